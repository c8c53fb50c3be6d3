/**
 * The part of CEL in which the rules of our custom resources are written: `has`, fields, `!`, `&&`, `||`, lists, the
 * macros `all`, `exists` and `exists_one`, and `hasValue()` of an optional (cel-spec, language definition). Not a CEL
 * library: anything else throws, so that no rule passes because this server cannot evaluate it.
 */

import { isObject } from "../../../src/domain/json.ts"

/** Names that an expression can see. */
export type Bindings = Readonly<Record<string, unknown>>
export type CelExpression = (bindings: Bindings) => unknown

const token = /\s*(?:([A-Za-z_]\w*)|(&&|\|\||[![\](),.]))/uy

const tokensOf = (text: string): ReadonlyArray<string> => {
  const tokens: Array<string> = []
  token.lastIndex = 0
  while (text.slice(token.lastIndex).trim() !== "") {
    const at = token.lastIndex
    const found = token.exec(text)
    if (found === null) throw new Error(`this server cannot evaluate ${JSON.stringify(text.slice(at))}`)
    tokens.push(found[1] ?? found[2] ?? "")
  }
  return tokens
}

const asBoolean = (value: unknown): boolean => {
  if (typeof value !== "boolean") throw new Error("no matching overload")
  return value
}

/** Null counts as absent, as it does for nullable fields of custom resources. */
const isSet = (object: unknown, field: string): boolean =>
  isObject(object) && Object.hasOwn(object, field) && object[field] !== null

const macros: Readonly<Record<string, (held: ReadonlyArray<boolean>) => boolean>> = {
  all: (held) => held.every(Boolean),
  exists: (held) => held.some(Boolean),
  exists_one: (held) => held.filter(Boolean).length === 1
}

class Parser {
  readonly #tokens: ReadonlyArray<string>
  readonly #names: ReadonlyArray<string>
  #next = 0

  constructor(tokens: ReadonlyArray<string>, names: ReadonlyArray<string>) {
    this.#tokens = tokens
    this.#names = names
  }

  parse(): CelExpression {
    const expression = this.#or(this.#names)
    if (this.#next < this.#tokens.length) throw this.#unexpected()
    return expression
  }

  #unexpected(): Error {
    return new Error(
      `this server cannot evaluate a rule with ${JSON.stringify(this.#tokens[this.#next] ?? "end of rule")} there`
    )
  }

  #takes(wanted: string): boolean {
    if (this.#tokens[this.#next] !== wanted) return false
    this.#next++
    return true
  }

  #demand(wanted: string): void {
    if (!this.#takes(wanted)) throw this.#unexpected()
  }

  #identifier(): string {
    const name = this.#tokens[this.#next] ?? ""
    if (!/^\w/u.test(name)) throw this.#unexpected()
    this.#next++
    return name
  }

  #or(names: ReadonlyArray<string>): CelExpression {
    let left = this.#and(names)
    while (this.#takes("||")) {
      const [first, second] = [left, this.#and(names)]
      left = (bindings) => asBoolean(first(bindings)) || asBoolean(second(bindings))
    }
    return left
  }

  #and(names: ReadonlyArray<string>): CelExpression {
    let left = this.#unary(names)
    while (this.#takes("&&")) {
      const [first, second] = [left, this.#unary(names)]
      left = (bindings) => asBoolean(first(bindings)) && asBoolean(second(bindings))
    }
    return left
  }

  #unary(names: ReadonlyArray<string>): CelExpression {
    if (!this.#takes("!")) return this.#member(names)
    const inner = this.#unary(names)
    return (bindings) => !asBoolean(inner(bindings))
  }

  #member(names: ReadonlyArray<string>): CelExpression {
    let object = this.#primary(names)
    while (this.#takes(".")) object = this.#select(object, names)
    return object
  }

  #select(object: CelExpression, names: ReadonlyArray<string>): CelExpression {
    const field = this.#identifier()
    if (!this.#takes("(")) {
      return (bindings) => {
        const value = object(bindings)
        if (!isObject(value) || !isSet(value, field)) throw new Error(`no such key: ${field}`)
        return value[field]
      }
    }
    if (field === "hasValue") {
      this.#demand(")")
      return (bindings) => object(bindings) !== undefined
    }
    const macro = macros[field]
    if (macro === undefined) throw new Error(`this server cannot evaluate ${field}()`)
    const name = this.#identifier()
    this.#demand(",")
    const predicate = this.#or([...names, name])
    this.#demand(")")
    return (bindings) => {
      const list = object(bindings)
      if (!Array.isArray(list)) throw new Error("no matching overload")
      return macro(list.map((item: unknown) => asBoolean(predicate({ ...bindings, [name]: item }))))
    }
  }

  #primary(names: ReadonlyArray<string>): CelExpression {
    if (this.#takes("(")) {
      const inner = this.#or(names)
      this.#demand(")")
      return inner
    }
    if (this.#takes("[")) return this.#list(names)
    const name = this.#identifier()
    if (name === "has" && this.#takes("(")) return this.#has(names)
    if (name === "true" || name === "false") return () => name === "true"
    if (!names.includes(name)) throw new Error(`undeclared reference to '${name}'`)
    return (bindings) => bindings[name]
  }

  #list(names: ReadonlyArray<string>): CelExpression {
    const items: Array<CelExpression> = []
    while (!this.#takes("]")) {
      items.push(this.#or(names))
      if (!this.#takes(",")) {
        this.#demand("]")
        break
      }
    }
    return (bindings) => items.map((item) => item(bindings))
  }

  #has(names: ReadonlyArray<string>): CelExpression {
    let object = this.#primary(names)
    this.#demand(".")
    let field = this.#identifier()
    while (this.#takes(".")) {
      const [outer, name] = [object, field]
      object = (bindings) => {
        const value = outer(bindings)
        return isObject(value) && isSet(value, name) ? value[name] : undefined
      }
      field = this.#identifier()
    }
    this.#demand(")")
    const [outer, name] = [object, field]
    return (bindings) => isSet(outer(bindings), name)
  }
}

/** Compiles an expression over `names`. An optional without a value is `undefined` in the bindings. */
export const celExpression = (text: string, names: ReadonlyArray<string>): CelExpression =>
  new Parser(tokensOf(text), names).parse()
