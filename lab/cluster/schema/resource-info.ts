/**
 * The description of one resource in one version, by which all of the server handles it. Built-in resources are listed
 * in `store/built-in-resources.ts`; custom ones come from their definition (`store/custom-resources.ts`).
 */

import type { ResourceRef } from "./kube-object.ts"
import type { StructuralSchema } from "./structural-schema.ts"

/** A column of a Table, as in `CustomResourceDefinition.spec.versions[].additionalPrinterColumns[]`. */
export interface PrinterColumn {
  readonly name: string
  readonly type: string
  readonly jsonPath: string
  readonly description?: string
  readonly priority?: number
  readonly format?: string
}

/** One resource in one version. */
export interface ResourceInfo extends ResourceRef {
  readonly kind: string
  readonly listKind: string
  readonly singular: string
  readonly namespaced: boolean
  readonly shortNames: ReadonlyArray<string>
  readonly categories: ReadonlyArray<string>
  /** Names of the subresources: `status`, `log`, `token`, `binding`. */
  readonly subresources: ReadonlyArray<string>
  readonly verbs: ReadonlyArray<string>
  /** Whether the server counts `metadata.generation`. */
  readonly generation: boolean
  /** The rule for names: DNS subdomain, DNS label or any path segment (RBAC allows colons). */
  readonly nameRule: "subdomain" | "label" | "path"
  /** The status at creation: kept as it was sent, replaced by this value, or removed if there is no value. */
  readonly initialStatus: { readonly keep: true } | { readonly keep: false; readonly value?: Record<string, unknown> }
  /** Set for custom resources only. */
  readonly custom?: { readonly schema: StructuralSchema; readonly columns: ReadonlyArray<PrinterColumn> }
}

export const storageKey = (ref: ResourceRef): string => `${ref.group}/${ref.resource}`

export const hasStatus = (info: ResourceInfo): boolean => info.subresources.includes("status")
