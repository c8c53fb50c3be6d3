/**
 * The resources that exist now: the built-in ones, and those of the stored CustomResourceDefinitions. The store keeps
 * it up to date; discovery and request handling read it.
 */

import { type KubeObject, type ResourceRef, splitApiVersion } from "../schema/kube-object.ts"
import type { ResourceInfo } from "../schema/resource-info.ts"
import { builtInResources } from "./built-in-resources.ts"
import { customResourceInfos } from "./custom-resources.ts"

const keyOf = (ref: ResourceRef): string => `${ref.group}/${ref.version}/${ref.resource}`

export class ResourceCatalog {
  readonly #resources = new Map<string, ResourceInfo>(builtInResources.map((info) => [keyOf(info), info]))
  readonly #definitions = new Map<string, ReadonlyArray<ResourceInfo>>()

  find(ref: ResourceRef): ResourceInfo | undefined {
    return this.#resources.get(keyOf(ref))
  }

  findKind(apiVersion: string, kind: string): ResourceInfo | undefined {
    const { group, version } = splitApiVersion(apiVersion)
    for (const info of this.#resources.values()) {
      if (info.group === group && info.version === version && info.kind === kind) return info
    }
    return undefined
  }

  all(): ReadonlyArray<ResourceInfo> {
    return [...this.#resources.values()]
  }

  hasGroupVersion(group: string, version: string): boolean {
    return this.all().some((info) => info.group === group && info.version === version)
  }

  /** The store calls this after it created or changed a definition. */
  define(crd: KubeObject): void {
    this.forget(crd)
    const infos = customResourceInfos(crd)
    this.#definitions.set(crd.metadata.name ?? "", infos)
    for (const info of infos) this.#resources.set(keyOf(info), info)
  }

  forget(crd: KubeObject): void {
    for (const info of this.#definitions.get(crd.metadata.name ?? "") ?? []) this.#resources.delete(keyOf(info))
    this.#definitions.delete(crd.metadata.name ?? "")
  }
}
