/**
 * The type of a field as a server's decoders see it. `Any` takes every value; `IntOrString` and `Quantity` are Go types
 * that read JSON themselves.
 */
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
  /** Its name in Go. */
  readonly name: string
  readonly field: (name: string) => StructField | undefined
}

export interface StructField {
  readonly type: FieldType
  /** Go's struct inside of which the field is declared, where that has no name of its own in JSON. */
  readonly within?: string
}
