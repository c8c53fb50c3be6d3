import type { ResourceDescriptor } from "./resource-descriptor.ts"

export interface PrinterColumn {
  readonly name: string
  readonly type: "string" | "integer" | "date"
  readonly jsonPath: string
}

/** A kind that the API server stores for us: what its CustomResourceDefinition says beyond the schema. */
export interface CustomResource<T> extends ResourceDescriptor<T> {
  /** One sentence for `kubectl explain`. */
  readonly description: string
  /** Paths in the chart's values; any of them being true installs the kind. None: always installed. */
  readonly installedWith: ReadonlyArray<string>
  readonly shortNames?: ReadonlyArray<string>
  readonly columns?: ReadonlyArray<PrinterColumn>
  /**
   * For kinds that clients create: fields of `spec` that this version does not know are stored all the same, so that a
   * newer client's object reaches a newer operator whole (published-chart.md §1.15 lists what the published schemas
   * lost).
   */
  readonly keepsUnknownFields?: true
  /**
   * What a schema cannot say of `spec`, in CEL. Only new objects are held to it: older ones must stay writable, or
   * nobody could take a finalizer off them, and the API server's own leniency about what an update leaves alone does
   * not reach objects with fields that it keeps unread.
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

/** Must be named wherever a kind has columns of its own: only kinds without any get it from the API server. */
export const ageColumn = dateColumn("Age", ".metadata.creationTimestamp")
