/**
 * Decides whether the Secret with a member's credentials has to be written when the member joins.
 *
 * Not here: getting credentials, and trying them (app/commands/join).
 */

/** The Secret as it was found. */
export interface FoundSecret {
  readonly exists: boolean
  /** Whether it holds the credentials to use, under the label by which the operator finds it. */
  readonly isRight: boolean
  /** The Helm release that it belongs to, if it belongs to one. */
  readonly release: string | undefined
}

export type CredentialsStep =
  | { readonly _tag: "Kept" }
  | { readonly _tag: "Create" }
  | { readonly _tag: "Replace" }
  /** `problem`: a sentence with cause and cure. */
  | { readonly _tag: "Refused"; readonly problem: string }

/** A Secret of a release is not written: the next upgrade would write it back. `name`: of the cluster. */
export const credentialsStep = ({ exists, isRight, release }: FoundSecret, name: string): CredentialsStep => {
  if (isRight) return { _tag: "Kept" }
  if (!exists) return { _tag: "Create" }
  return release === undefined
    ? { _tag: "Replace" }
    : {
        _tag: "Refused",
        problem:
          `The credentials of cluster ${name} do not work, and their Secret belongs to the Helm release ${release}, ` +
          `which would write it back; correct them in operator.multiCluster.clusters.${name} and upgrade the release.`
      }
}
