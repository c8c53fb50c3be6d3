/**
 * The store as a kubelet uses it: of the embedded cluster ({@link localNodeStore}), or of a real API server (the
 * playground's mirror). No operation fails: an operation on a missing object does nothing, and an unreachable server is
 * asked again.
 */

import { Effect } from "effect"
import { asObject } from "../../../src/domain/json.ts"
import type { KubeObject, ResourceRef } from "../schema/kube-object.ts"
import type { ObjectReader } from "../store/object-reader.ts"
import type { ObjectStore } from "../store/object-store.ts"
import { nodes, pods } from "../store/resource-refs.ts"
import { find, ifPresent, nameOf, namespaceOf, setStatus } from "../store/store-access.ts"

export interface NodeStore extends ObjectReader {
  /** Creates the Node unless it exists. */
  readonly register: (node: KubeObject) => Effect.Effect<void>
  /** Binds the pod to the node, as a scheduler does; `undefined` if the pod is gone or was changed meanwhile. */
  readonly bind: (pod: KubeObject, nodeName: string) => Effect.Effect<KubeObject | undefined>
  /** Changes top-level fields of the status if the object still has this `uid`. May take effect later, in order. */
  readonly setStatus: (ref: ResourceRef, object: KubeObject, status: Readonly<Record<string, unknown>>) => void
  /** Lets a deleted pod go: its programs have ended. */
  readonly release: (pod: KubeObject) => void
}

/**
 * Keeps a deleted pod until its programs have ended: the store alone would remove pods at once. A removal past the
 * finalizer ends the programs as well.
 */
const terminationFinalizer = "stand-in-kubelet/termination"

/** The store of a cluster in this process, without any delay. */
export const localNodeStore = (store: ObjectStore): NodeStore => ({
  get: (ref, namespace, name) => store.get(ref, namespace, name),
  list: (ref, options) => store.list(ref, options),
  watch: (ref, options, listener) => store.watch(ref, options, listener),
  register: (node) =>
    Effect.sync(() => {
      if (find(store, nodes, undefined, nameOf(node)) === undefined) store.create(nodes, node)
    }),
  bind: (pod, nodeName) =>
    Effect.sync(() =>
      ifPresent(() =>
        store.modify(pods, namespaceOf(pod), nameOf(pod), (draft) => {
          draft["spec"] = { ...asObject(draft["spec"]), nodeName }
          draft.metadata.finalizers = [...new Set([...(draft.metadata.finalizers ?? []), terminationFinalizer])]
        })
      )
    ),
  setStatus: (ref, object, status) => setStatus(store, ref, object, status),
  release: (pod) => {
    const current = find(store, pods, namespaceOf(pod), nameOf(pod))
    if (current?.metadata.deletionTimestamp === undefined || current.metadata.uid !== pod.metadata.uid) return
    ifPresent(() =>
      store.modify(pods, namespaceOf(pod), nameOf(pod), (draft) => {
        draft.metadata.finalizers = (draft.metadata.finalizers ?? []).filter((item) => item !== terminationFinalizer)
      })
    )
  }
})
