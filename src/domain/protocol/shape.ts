/**
 * The language in which messages are described: a shape is data that says how a value looks on the wire. Encoder,
 * decoder (`codec.ts`), skipper (`walker.ts`), TypeScript type (`TypeOf`) and test generator are all derived from it.
 *
 * Source of the encoding: wire.md §2 (bincode 2.0.1, standard configuration).
 */

/** Carries the TypeScript type of a shape's values; exists for the compiler only. */
interface Typed<T> {
  readonly "~type"?: T
}

/** Text that must also parse as something before it is accepted, as upstream's deserializers demand. */
export type TextRule = "any" | "method" | "uri" | "httpVersion" | "semver"

export type Primitive = {
  readonly kind:
    | "u8"
    | "bool"
    | "u16"
    | "u32"
    | "u64"
    | "u128"
    | "i32"
    | "i64"
    | "bytes"
    | "unit"
    | "status"
    | "ip"
    | "headers"
}
export type Text = { readonly kind: "text"; readonly rule: TextRule }
export type Option = { readonly kind: "option"; readonly of: Shape }
export type Result = { readonly kind: "result"; readonly ok: Shape; readonly err: Shape }
export type List = { readonly kind: "list"; readonly of: Shape }
export type Tuple = { readonly kind: "array"; readonly of: Shape; readonly length: number }
export type TextSet = { readonly kind: "textSet" }
export type TextMap = { readonly kind: "textMap" }
export type Struct = { readonly kind: "struct"; readonly fields: ReadonlyArray<Field> }
export type Enum = { readonly kind: "enum"; readonly name: string; readonly variants: ReadonlyArray<Variant> }
export type Lazy = { readonly kind: "lazy"; readonly force: () => Shape }

/** Any shape, without its TypeScript type. */
export type Shape = Primitive | Text | Option | Result | List | Tuple | TextSet | TextMap | Struct | Enum | Lazy
export type Field = { readonly name: string; readonly shape: Shape }

/**
 * One member of an enum. `style` is how Rust declares it (it changes only the textual form of golden vectors); on the
 * wire the fields simply follow the index. A `newtype`'s single field is called `value`.
 */
export type Variant = {
  readonly name: string
  readonly style: "unit" | "newtype" | "tuple" | "struct"
  readonly fields: ReadonlyArray<Field>
}

export type TypedShape<T> = Shape & Typed<T>

/** The TypeScript type of a shape's values. */
export type TypeOf<S> = S extends Typed<infer T> ? T : never

const typed = <T>(shape: Shape): TypedShape<T> => shape

export const u8 = typed<number>({ kind: "u8" })
export const bool = typed<boolean>({ kind: "bool" })
export const u16 = typed<number>({ kind: "u16" })
export const u32 = typed<number>({ kind: "u32" })
export const u64 = typed<bigint>({ kind: "u64" })
/** `usize` travels as `u64`. */
export const usize = u64
export const u128 = typed<bigint>({ kind: "u128" })
export const i32 = typed<number>({ kind: "i32" })
export const i64 = typed<bigint>({ kind: "i64" })
/** `Vec<u8>` and `Payload`: a view into the decoded buffer, not a copy. */
export const bytes = typed<Uint8Array>({ kind: "bytes" })
/** `()`: nothing on the wire, `null` in TypeScript. */
export const unit = typed<null>({ kind: "unit" })
/** `http::StatusCode`, 100 … 999. */
export const status = typed<number>({ kind: "status" })
/** `IpAddr` as text: dotted IPv4 or IPv6 as RFC 5952 writes it. */
export const ip = typed<string>({ kind: "ip" })
/** `http::HeaderMap`: one pair per value; names lower case, values of one name next to each other. */
export type Headers = ReadonlyArray<readonly [name: string, value: Uint8Array]>
export const headers = typed<Headers>({ kind: "headers" })

const textOf = (rule: TextRule): TypedShape<string> => typed({ kind: "text", rule })
export const text = textOf("any")
/** `PathBuf`; paths that are not UTF-8 cannot travel. */
export const path = text
export const method = textOf("method")
export const uri = textOf("uri")
export const httpVersion = textOf("httpVersion")
export const semver = textOf("semver")

/** `Option<T>`; `None` is `null`. */
export const option = <T>(of: TypedShape<T>): TypedShape<T | null> => typed({ kind: "option", of })

export type ResultOf<A, E> = { readonly _tag: "Ok"; readonly value: A } | { readonly _tag: "Err"; readonly error: E }
export const result = <A, E>(ok: TypedShape<A>, err: TypedShape<E>): TypedShape<ResultOf<A, E>> =>
  typed({ kind: "result", ok, err })

export const list = <T>(of: TypedShape<T>): TypedShape<ReadonlyArray<T>> => typed({ kind: "list", of })
/** `[T; 2]`: two items without a length. */
export const pair = <T>(of: TypedShape<T>): TypedShape<readonly [T, T]> => typed({ kind: "array", of, length: 2 })
/** `HashSet<String>` in the order of the wire. */
export const textSet = typed<ReadonlySet<string>>({ kind: "textSet" })
/** `HashMap<String, String>` in the order of the wire. */
export const textMap = typed<ReadonlyMap<string, string>>({ kind: "textMap" })
/** A shape that contains itself. */
export const lazy = <T>(force: () => TypedShape<T>): TypedShape<T> => typed({ kind: "lazy", force })

type Fields = { readonly [name: string]: TypedShape<unknown> }
type FieldsOf<F> = { readonly [K in keyof F]: TypeOf<F[K]> }

const fieldList = (fields: Fields): ReadonlyArray<Field> =>
  Object.entries(fields).map(([name, shape]) => ({ name, shape }))

/** A struct: its fields in declaration order, nothing else on the wire. */
export const struct = <F extends Fields>(fields: F): TypedShape<FieldsOf<F>> =>
  typed({ kind: "struct", fields: fieldList(fields) })

type VariantDeclaration<T> = { readonly style: Variant["style"]; readonly fields: ReadonlyArray<Field> } & Typed<T>

/** A variant without content. */
export const unitVariant: VariantDeclaration<unknown> = { style: "unit", fields: [] }
/** `Variant(T)`: the content is the property `value`. */
export const newtype = <T>(shape: TypedShape<T>): VariantDeclaration<{ readonly value: T }> => ({
  style: "newtype",
  fields: [{ name: "value", shape }]
})
/** `Variant(A, B)`: positional upstream, named here. */
export const tuple = <F extends Fields>(fields: F): VariantDeclaration<FieldsOf<F>> => ({
  style: "tuple",
  fields: fieldList(fields)
})
/** `Variant { a, b }`. */
export const fields = <F extends Fields>(named: F): VariantDeclaration<FieldsOf<F>> => ({
  style: "struct",
  fields: fieldList(named)
})

type Declarations = { readonly [name: string]: VariantDeclaration<unknown> }
type EnumOf<V> = {
  [K in keyof V & string]: V[K] extends Typed<infer T>
    ? unknown extends T
      ? { readonly _tag: K }
      : { readonly _tag: K } & T
    : never
}[keyof V & string]

/** An enum: variants in upstream's order, the position is the index on the wire. Values are unions tagged by `_tag`. */
export const enumeration = <V extends Declarations>(name: string, variants: V): TypedShape<EnumOf<V>> =>
  typed({
    kind: "enum",
    name,
    variants: Object.entries(variants).map(([variant, declaration]) => ({ name: variant, ...declaration }))
  })
