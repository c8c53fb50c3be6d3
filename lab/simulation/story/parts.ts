/**
 * The grammar of the stories' lines: parts that read words, and how parts are put together. A verb's form is made of
 * its parts, so that help and errors cannot differ from what is read. Single words are in `words.ts`, and parts that
 * name things of the world in `things.ts`.
 */

import { Result } from "effect"
import type { World } from "../world/world.ts"
import { afterArrow, duration, exactly, isArrow, nameWord, nothingMore, oneOf, span, wholeNumber } from "./words.ts"

/** Reads a part of a line as `Said`; an act gets `Found`, which a name of the world stands for when the act runs. */
export interface Part<Said, Found = Said> {
  /** As the verb's form shows it, such as `<cluster>`. */
  readonly usage: string
  /** Takes its words off the front of those left; a failure says which word is wrong and what would be right. */
  read(left: Array<string>): Result.Result<Said, string>
  /** Finds what was named; a failure says why the line does nothing. Without it `Found` is `Said`. */
  find?(world: World, said: Said): Result.Result<Found, string>
}

/** Parts by the names that an act knows them by, in the order of their words. */
export type Parts = Readonly<Record<string, Part<unknown>>>
export type Said<P extends Parts> = { readonly [K in keyof P]: P[K] extends Part<infer S, infer _> ? S : never }
export type Found<P extends Parts> = { readonly [K in keyof P]: P[K] extends Part<infer _, infer F> ? F : never }

/** One word, read by a reader of `words.ts`. */
export const oneWord = <A>(usage: string, read: (word: string | undefined) => Result.Result<A, string>): Part<A> => ({
  usage,
  read: (left) => read(left.shift())
})

export const name = (usage: string, what: string): Part<string> => oneWord(usage, (text) => nameWord(text, what))
export const number = (usage: string, what: string): Part<number> => oneWord(usage, (text) => wholeNumber(text, what))
export const time: Part<number> = oneWord("<duration>", duration)
export const choice = <const Words extends ReadonlyArray<string>>(words: Words): Part<Words[number]> =>
  oneWord(words.join("|"), (text) => oneOf(text, words))

/** A word that must be there, such as `too`. */
export const literal = (text: string): Part<string> =>
  oneWord(text, (said) => Result.map(exactly(said, text), () => text))

/** The same part, refused with a sentence unless `holds`. */
export const where = <A>(part: Part<A>, holds: (said: A) => boolean, sentence: string): Part<A> => ({
  ...part,
  read: (left) => Result.filterOrFail(part.read(left), holds, () => sentence)
})

/** All words that are left, as one text. */
export const restOfLine = (
  usage: string,
  read: (words: ReadonlyArray<string>) => Result.Result<string, string>
): Part<string> => ({ usage, read: (left) => read(left.splice(0)) })

/** Two durations, the shorter one first. */
export const times: Part<readonly [number, number]> = {
  usage: "<min> <max>",
  read: (left) => span(left.shift(), left.shift())
}

/** `read` of each part in turn, or `find`. */
const collect = <A>(
  parts: Parts,
  one: (part: Part<unknown>, key: string) => Result.Result<unknown, string>
): Result.Result<A, string> => {
  const values: Record<string, unknown> = {}
  for (const [key, part] of Object.entries(parts)) {
    const value = one(part, key)
    if (Result.isFailure(value)) return Result.fail(value.failure)
    values[key] = value.success
  }
  return Result.succeed(values as A)
}

/** Several forms of which one is said. */
const alternatives = (usages: ReadonlyArray<string>): string =>
  usages.length === 1 ? usages.join("") : `(${usages.join(" | ")})`

const found = (world: World, part: Part<unknown>, said: unknown): Result.Result<unknown, string> =>
  part.find?.(world, said) ?? Result.succeed(said)

/** One part after the other. */
export const sequence = <P extends Parts>(parts: P): Part<Said<P>, Found<P>> => ({
  usage: Object.values(parts)
    .flatMap(({ usage }) => (usage === "" ? [] : [usage]))
    .join(" "),
  read: (left) => collect(parts, (part) => part.read(left)),
  find: (world, said) => collect(parts, (part, key) => found(world, part, said[key]))
})

/** A part after a word of its own, such as `for <duration>`. */
export const after = <S, F>(text: string, part: Part<S, F>): Part<S, F> => ({
  ...part,
  usage: `${text} ${part.usage}`,
  read: (left) => Result.flatMap(exactly(left.shift(), text), () => part.read(left))
})

/** A part that may be missing at the end of a line. */
export const optional = <S, F>(part: Part<S, F>): Part<S | undefined, F | undefined> => ({
  usage: `[${part.usage}]`,
  read: (left) => (left.length === 0 ? Result.succeed(undefined) : part.read(left)),
  find: (world, said) =>
    said === undefined ? Result.succeed(undefined) : (found(world, part, said) as Result.Result<F, string>)
})

/** A word that says yes by being there, as an option. */
export const flag: Part<true> = { usage: "", read: () => Result.succeed(true) }

/** Collects what is said each time, as an option. */
export const repeated = <A>(part: Part<A>): Part<ReadonlyArray<A>> => ({
  usage: part.usage,
  read: (left) => Result.map(part.read(left), (value) => [value])
})

/** Adds the values of one option, or of one word, to those before: lists grow, all others are replaced. */
const add = (values: Record<string, unknown>, key: string, value: unknown): void => {
  const old = values[key]
  values[key] = Array.isArray(old) && Array.isArray(value) ? [...old, ...value] : value
}

/**
 * Words with values in any order, up to an arrow or the end of the line. `bare` has one part, which reads each word
 * that is no option's; without it such a word is refused.
 */
export const options = <P extends Parts, B extends Parts = Readonly<Record<never, never>>>(
  parts: P,
  bare?: B
): Part<Partial<Said<P> & Said<B>>> => {
  const known: Parts = parts
  const [other] = Object.entries<Part<unknown>>(bare ?? {})
  return {
    usage: [
      ...(other === undefined ? [] : [`[${other[1].usage}]`]),
      ...Object.entries(known).map(([key, { usage }]) => `[${`${key} ${usage}`.trimEnd()}]`)
    ].join(" "),
    read: (left) => {
      const values: Record<string, unknown> = {}
      for (let [first] = left; first !== undefined && !isArrow(first); [first] = left) {
        const part = known[first]
        if (part === undefined && other === undefined)
          return Result.fail(`${JSON.stringify(first)} is none of ${Object.keys(parts).join(", ")}`)
        const [key, chosen] = part === undefined ? (other ?? [first, flag]) : [left.shift() ?? first, part]
        const read = chosen.read(left)
        if (Result.isFailure(read)) return Result.fail(read.failure)
        add(values, key, read.success)
      }
      return Result.succeed(values as Partial<Said<P> & Said<B>>)
    }
  }
}

type Forms = Readonly<Record<string, Parts>>
type SaidCase<C extends Forms> = { [K in keyof C]: { readonly is: K } & Said<C[K]> }[keyof C]
type FoundCase<C extends Forms> = { [K in keyof C]: { readonly is: K } & Found<C[K]> }[keyof C]

/** A word, and the parts that follow each; `is` says which word it was. */
export const cases = <C extends Forms>(forms: C): Part<SaidCase<C>, FoundCase<C>> => {
  const known: Forms = forms
  const wordsFor = Map.groupBy(Object.keys(forms), (key) => sequence(known[key] ?? {}).usage)
  return {
    usage: alternatives([...wordsFor].map(([usage, keys]) => `${keys.join("|")} ${usage}`.trimEnd())),
    read: (left) =>
      Result.flatMap(oneOf(left.shift(), Object.keys(forms)), (is) =>
        Result.map(sequence(known[is] ?? {}).read(left), (said) => ({ ...said, is }) as SaidCase<C>)
      ),
    find: (world, said) =>
      Result.map(
        found(world, sequence(known[String(said.is)] ?? {}), said),
        (values) => ({ ...(values as object), is: said.is }) as FoundCase<C>
      )
  }
}

/** The same where a line may also begin with other parts; then `is` is missing. */
export const casesOr = <C extends Forms, O extends Parts>(
  forms: C,
  otherwise: O
): Part<
  SaidCase<C> | ({ readonly is?: undefined } & Said<O>),
  FoundCase<C> | ({ readonly is?: undefined } & Found<O>)
> => {
  const [special, others] = [cases(forms), sequence(otherwise)]
  const isSpecial = (key: unknown): boolean => typeof key === "string" && Object.hasOwn(forms, key)
  return {
    usage: alternatives([others.usage, special.usage]),
    read: (left) => (isSpecial(left[0]) ? special.read(left) : others.read(left)),
    find: (world, said) => found(world, isSpecial(said.is) ? special : others, said) as never
  }
}

/** The words after an arrow, if there is one. */
export const arrow = (usage: string, what: string): Part<string | undefined> => ({
  usage: `[→ ${usage}]`,
  read: (left) => afterArrow(left.splice(0), what)
})

/** Reads a whole line. */
export const readLine = <S, F>(part: Part<S, F>, words: ReadonlyArray<string>): Result.Result<S, string> => {
  const left = [...words]
  return Result.flatMap(part.read(left), (said) => Result.map(nothingMore(left), () => said))
}
