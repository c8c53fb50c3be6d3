/**
 * Reading access to a cluster's objects, without waiting: the embedded store, or the playground's mirror of a real API
 * server. Node, network and DNS only need this much of a store.
 */

import type { KubeObject, ResourceRef, StoreEvent } from "../schema/kube-object.ts"

export interface ObjectReader {
  readonly get: (ref: ResourceRef, namespace: string | undefined, name: string) => KubeObject | undefined
  readonly list: (
    ref: ResourceRef,
    options?: { readonly namespace?: string; readonly labelSelector?: string }
  ) => { readonly items: ReadonlyArray<KubeObject> }
  /** Begins with an `ADDED` for each existing object. Returns the function that ends the watch. */
  readonly watch: (ref: ResourceRef, options: object, listener: (event: StoreEvent) => void) => () => void
}
