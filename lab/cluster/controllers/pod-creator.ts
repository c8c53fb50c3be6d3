/**
 * Creates the pods of workloads: at once, or after the webhooks that a pod meets. `pod-template.ts` makes the pods; the
 * number of pods is decided by each controller.
 */

import type { KubeObject } from "../schema/kube-object.ts"
import type { ObjectStore } from "../store/object-store.ts"
import { pods } from "../store/resource-refs.ts"
import { ifPresent, uidOf } from "../store/store-access.ts"
import { type NewPod, podFrom } from "./pod-template.ts"

/**
 * The admission of a pod that a controller creates as this account of `kube-system`. `undefined`, at once, if the pod
 * meets no webhook.
 */
export type AdmitPod = (pod: KubeObject, account: string) => Promise<KubeObject> | undefined

export interface PodCreatorOptions {
  readonly store: ObjectStore
  readonly admit: AdmitPod
  /** Called when a pod that met a webhook was not created. */
  readonly failed: (owner: KubeObject, error: unknown) => void
}

export class PodCreator {
  readonly store: ObjectStore
  readonly #options: PodCreatorOptions
  readonly #waiting = new Map<string, Array<KubeObject>>()

  constructor(options: PodCreatorOptions) {
    this.store = options.store
    this.#options = options
  }

  /** The pods of an owner that wait for a webhook. They count as pods: there is no second one for them. */
  waiting(owner: KubeObject): ReadonlyArray<KubeObject> {
    return this.#waiting.get(uidOf(owner)) ?? []
  }

  /** Creates a pod from the owner's `spec.template`. An existing pod with the same name stays as it is. */
  create(owner: KubeObject, added: NewPod): void {
    const pod = podFrom(owner, added)
    const admitted = this.#options.admit(pod, `${owner.kind.toLowerCase()}-controller`)
    if (admitted === undefined) this.#store(pod)
    else void this.#createLater(owner, pod, admitted)
  }

  async #createLater(owner: KubeObject, pod: KubeObject, admitted: Promise<KubeObject>): Promise<void> {
    const key = uidOf(owner)
    const others = () => this.waiting(owner).filter((other) => other !== pod)
    this.#waiting.set(key, [...others(), pod])
    const ended = (): void => {
      const left = others()
      if (left.length === 0) this.#waiting.delete(key)
      else this.#waiting.set(key, left)
    }
    try {
      const changed = await admitted
      // Before the pod is there: its event leads to a count.
      ended()
      this.#store(changed)
    } catch (error) {
      ended()
      this.#options.failed(owner, error)
    }
  }

  #store(pod: KubeObject): void {
    ifPresent(() => this.store.create(pods, pod))
  }
}
