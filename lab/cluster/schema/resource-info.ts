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

/** What the server knows about one resource in one version. */
export interface ResourceInfo extends ResourceRef {
  readonly kind: string
  readonly listKind: string
  readonly singular: string
  readonly namespaced: boolean
  readonly shortNames: ReadonlyArray<string>
  readonly categories: ReadonlyArray<string>
  /** Subresources with their own kind where it differs from the parent's. */
  readonly subresources: ReadonlyArray<string>
  readonly verbs: ReadonlyArray<string>
  /** `metadata.generation` is kept. */
  readonly generation: boolean
  /** How names are checked: DNS subdomain, DNS label or any path segment (RBAC allows colons). */
  readonly nameRule: "subdomain" | "label" | "path"
  /** Status at creation: kept as sent, or replaced by this value (`undefined`: removed). */
  readonly initialStatus: { readonly keep: true } | { readonly keep: false; readonly value?: Record<string, unknown> }
  /** Set for custom resources only. */
  readonly custom?: { readonly schema: StructuralSchema; readonly columns: ReadonlyArray<PrinterColumn> }
}

export const storageKey = (ref: ResourceRef): string => `${ref.group}/${ref.resource}`

export const hasStatus = (info: ResourceInfo): boolean => info.subresources.includes("status")
