import { Effect } from "effect"
import { asObject } from "../../../src/domain/json.ts"
import type { KubeObject, ResourceRef } from "../schema/kube-object.ts"
import type { ObjectReader } from "./object-reader.ts"
import type { ObjectStore } from "./object-store.ts"
import { nodes, pods } from "./resources.ts"
import { find, ifPresent, nameOf, namespaceOf, setStatus } from "./store-access.ts"

/**
 * A cluster as its kubelet uses it: the embedded one's store ({@link localNodeStore}), or what an API server tells. No
 * operation fails: what cannot be done because the object is gone is not done, and a server that is not there is asked
 * again.
 */
export interface NodeStore extends ObjectReader {
  /** Makes the Node unless it is there. */
  readonly register: (node: KubeObject) => Effect.Effect<void>
  /** Gives the pod to the node, as a scheduler does; `undefined` if it cannot be had. */
  readonly bind: (pod: KubeObject, nodeName: string) => Effect.Effect<KubeObject | undefined>
  /**
   * Changes top-level fields of the object's status, if it is still the one with this `uid`. May take effect later, in
   * order.
   */
  readonly setStatus: (ref: ResourceRef, of: KubeObject, status: Readonly<Record<string, unknown>>) => void
  /** The programs of a deleted pod have ended: it may go. */
  readonly release: (pod: KubeObject) => void
}

/**
 * Holds a deleted pod back until its programs have ended: the store itself removes pods at once. A hard removal, past
 * the finalizer, ends the programs as well.
 */
const terminationFinalizer = "stand-in-kubelet/termination"

/** The store of a cluster in this process: everything happens at once. */
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
  setStatus: (ref, of, status) => setStatus(store, ref, of, status),
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
