/**
 * A kind that the API server stores for us: the parts of its CustomResourceDefinition that its schema cannot say.
 *
 * Not here: the kinds themselves, and the definition that is generated from them (custom-resource-definitions.ts).
 */

import type { ResourceDescriptor } from "./resource-descriptor.ts"

export interface PrinterColumn {
  readonly name: string
  readonly type: "string" | "integer" | "date"
  readonly jsonPath: string
}

/** A kind with everything that its CustomResourceDefinition needs. */
export interface CustomResource<T> extends ResourceDescriptor<T> {
  /** One sentence for `kubectl explain`. */
  readonly description: string
  /** Paths in the chart's values: the kind is installed if one of them is true. Empty: it is always installed. */
  readonly installedWith: ReadonlyArray<string>
  readonly shortNames?: ReadonlyArray<string>
  readonly columns?: ReadonlyArray<PrinterColumn>
  /**
   * For kinds that clients create: the API server stores fields of `spec` that this version does not know. An object of
   * a newer client then reaches a newer operator whole (published-chart.md §1.15 lists what the published schemas
   * lost).
   */
  readonly keepsUnknownFields?: true
  /**
   * Rules in CEL that a schema cannot express. They hold only for new objects. Older objects must stay writable, or
   * their finalizers could not be removed; and the API server does not excuse an unchanged field of an object that also
   * has fields which it keeps unread.
   */
  readonly creationRules?: ReadonlyArray<SpecRule>
}

export interface SpecRule {
  readonly rule: string
  readonly message: string
}

export const column = (name: string, jsonPath: string): PrinterColumn => ({ name, type: "string", jsonPath })
export const integerColumn = (name: string, jsonPath: string): PrinterColumn => ({ name, type: "integer", jsonPath })
export const dateColumn = (name: string, jsonPath: string): PrinterColumn => ({ name, type: "date", jsonPath })

/** A kind with columns of its own must name this column: the API server adds it only to kinds without columns. */
export const ageColumn = dateColumn("Age", ".metadata.creationTimestamp")
