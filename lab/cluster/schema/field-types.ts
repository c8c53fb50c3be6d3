/**
 * Types of fields as a server's decoders see them, for built-in kinds and custom resources alike. Only data: decoding
 * is in `decoding.ts`, the check of applied configurations in `typed-patch.ts`.
 */

/** `Any` takes every value. `IntOrString` and `Quantity` are Go types that read JSON themselves. */
export type FieldType =
  | StructType
  | { readonly _tag: "List"; readonly item: FieldType }
  | { readonly _tag: "Map"; readonly item: FieldType }
  | { readonly _tag: "Int"; readonly bits: 32 | 64 }
  | { readonly _tag: "Time"; readonly micro: boolean }
  | { readonly _tag: "Text" | "Bool" | "Float" | "Bytes" | "IntOrString" | "Quantity" | "Any" }

/** An object with known fields. */
export interface StructType {
  readonly _tag: "Struct"
  /** The struct's name in Go. */
  readonly name: string
  readonly field: (name: string) => StructField | undefined
}

export interface StructField {
  readonly type: FieldType
  /** The inlined Go struct that declares the field; JSON does not show it, Go's refusals do. */
  readonly within?: string
}
