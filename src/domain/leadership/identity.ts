/** The pod that an operator runs in; its UID is another one when a pod is made anew under the same name. */
export interface OperatorPod {
  readonly name: string
  readonly uid: string
}

/**
 * Who one process is as the holder of a Lease. `process` tells processes of one pod from each other. None of the three
 * parts can hold an underscore.
 */
export const holderIdentity = ({ name, uid }: OperatorPod, process: string): string => `${name}_${uid}_${process}`

const podOf = (identity: string): string => identity.slice(0, identity.lastIndexOf("_") + 1)

/**
 * Whether `holder` was this pod's container before its restart. It has ended then: a kubelet starts a container again
 * only after that, and whoever else is started in the pod cannot serve on the same port.
 */
export const isPredecessor = (holder: string, identity: string): boolean =>
  holder !== identity && podOf(holder) !== "" && podOf(holder) === podOf(identity)
