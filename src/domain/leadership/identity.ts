/**
 * The name under which a process holds the Lease, and what such names say about each other.
 *
 * Not here: taking the Lease (lease.ts).
 */

/** The pod that an operator runs in. A new pod of the same name has another UID. */
export interface OperatorPod {
  readonly name: string
  readonly uid: string
}

/**
 * The identity of a process as the holder of a Lease. `process` distinguishes the processes of one pod. None of the
 * three parts can hold an underscore.
 */
export const holderIdentity = ({ name, uid }: OperatorPod, process: string): string => `${name}_${uid}_${process}`

/** Name of the pod that a holder runs in. */
export const podNameOf = (identity: string): string => identity.split("_")[0] ?? ""

const podOf = (identity: string): string => identity.slice(0, identity.lastIndexOf("_") + 1)

/**
 * Whether `holder` was an earlier process of this pod. That process has ended: a kubelet restarts a container only
 * after its end, and no other process of the pod can serve on the same port.
 */
export const isPredecessor = (holder: string, identity: string): boolean =>
  holder !== identity && podOf(holder) !== "" && podOf(holder) === podOf(identity)
