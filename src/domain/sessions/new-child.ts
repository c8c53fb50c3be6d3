/**
 * The child that a primary creates for a parent in one cluster, as it is sent.
 *
 * Not here: when it is created (session-start.ts), and sessions that a user makes directly (session-spec.ts).
 */

import type { MirrordMultiClusterSessionSpec } from "../resources/mirrord-multi-cluster-session.ts"
import { childAnnotations, ownerLabel, splitAnnotations } from "./names.ts"
import type { SessionSettings } from "./observed-session.ts"
import type { NewChild } from "./session-action.ts"

/** The split of queues for a child, as the texts of its annotations. */
export interface ChildSplit {
  readonly wish: string
  /** The session's queues that the default cluster has made; `undefined` for the default cluster. */
  readonly given: string | undefined
}

/**
 * The child of a parent in one cluster. `split`: `undefined` if its session splits no queues. Connect parameters are
 * not in it: they travel with the connect request. Only published spec fields are used, so any member's CRD keeps them;
 * the rest is in annotations.
 */
export const newChild = (
  name: string,
  spec: MirrordMultiClusterSessionSpec,
  parent: { readonly name: string; readonly uid: string },
  { split, ...settings }: SessionSettings & { readonly split?: ChildSplit | undefined }
): NewChild => ({
  metadata: {
    name,
    labels: ownerLabel,
    annotations: {
      [childAnnotations.parentUid]: parent.uid,
      ...(settings.primaryUid === undefined ? {} : { [childAnnotations.primaryUid]: settings.primaryUid }),
      [childAnnotations.sessionTtlSecs]: String(settings.sessionTtlSecs),
      [childAnnotations.remoteSessionTimeoutSecs]: String(settings.remoteSessionTimeoutSecs),
      ...(split === undefined ? {} : { [splitAnnotations.wish]: split.wish }),
      ...(split?.given === undefined ? {} : { [splitAnnotations.given]: split.given })
    }
  },
  spec: {
    namespace: spec.namespace,
    owner: spec.owner,
    multiClusterParentName: parent.name,
    ...(spec.target === undefined ? {} : { target: spec.target }),
    ...(spec.key === undefined ? {} : { key: spec.key }),
    ...(spec.clientCliVersion === undefined ? {} : { clientCliVersion: spec.clientCliVersion }),
    ...(spec.httpFilter === undefined ? {} : { httpFilter: spec.httpFilter }),
    ...(spec.ciInfo === undefined ? {} : { ciInfo: spec.ciInfo }),
    ...(spec.copyTarget === undefined ? {} : { copyTarget: spec.copyTarget })
  }
})
