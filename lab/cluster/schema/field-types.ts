/**
 * Types of fields as a server's decoders see them, for built-in kinds and metadata. Only data: decoding is in
 * `decoding.ts`.
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
  readonly field: (name: string) => FieldType | undefined
}
