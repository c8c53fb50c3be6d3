import type { KubeObject, ResourceRef, StoreEvent } from "../schema/kube-object.ts"

/** A cluster's objects, as far as they can be read without waiting. */
export interface ObjectReader {
  readonly get: (ref: ResourceRef, namespace: string | undefined, name: string) => KubeObject | undefined
  readonly list: (
    ref: ResourceRef,
    options?: { readonly namespace?: string; readonly labelSelector?: string }
  ) => { readonly items: ReadonlyArray<KubeObject> }
  /** Begins with an `ADDED` for each object that is there. Gives what ends it. */
  readonly watch: (ref: ResourceRef, options: object, listener: (event: StoreEvent) => void) => () => void
}
