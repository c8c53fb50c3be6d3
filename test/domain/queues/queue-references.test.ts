import * as Result from "effect/Result"
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { jqRequests, type JsonPath, queuesOfVariable } from "../../../src/domain/queues/queue-references.ts"
import type { ValueForm } from "../../../src/domain/queues/split-configuration.ts"
import { failureOf, patterns, readReference } from "./split-objects.ts"

const url = "https://sqs.eu-west-1.amazonaws.com/1/orders.fifo"
const part = (pattern: string): ValueForm => ({
  _tag: "Part",
  pattern,
  find: Result.getOrThrow(patterns.finder(pattern, ["value"]))
})
const jq: ValueForm = { _tag: "Jq", program: ".." }
const variable = (form: ValueForm, value: string) => ({ id: "id", container: "app", variable: "Q", value, form })
const read = (form: ValueForm, value: string, paths: ReadonlyArray<JsonPath> = []) =>
  queuesOfVariable(variable(form, value), readReference, () => Result.succeed(paths))

/** The names in a value, and the value with `tmp-` before each. */
const renamed = (form: ValueForm, value: string, paths?: ReadonlyArray<JsonPath>) => {
  const { references, write } = Result.getOrThrow(read(form, value, paths))
  return [references.map(({ name }) => name), write(references.map((one) => one.renamed(`tmp-${one.name}`)))]
}

const name = fc.stringMatching(/^[-_A-Za-z0-9]{1,20}(?:\.fifo)?$/u)

describe("the queues of a value", () => {
  it.each<readonly [string, ValueForm, string, ReadonlyArray<JsonPath> | undefined, unknown]>([
    ["a name", { _tag: "Whole" }, "orders", undefined, [["orders"], "tmp-orders"]],
    ["a URL", { _tag: "Whole" }, url, undefined, [["orders.fifo"], url.replace("orders", "tmp-orders")]],
    ["a part", part("q=(\\w+);"), "h=1;q=orders;x=q=orders;", undefined, [["orders"], "h=1;q=tmp-orders;x=q=orders;"]],
    ["a named part", part("(\\w)=(?<value>\\w+)"), "q=orders", undefined, [["orders"], "q=tmp-orders"]],
    [
      "an object",
      { _tag: "JsonMap" },
      `{"a":"x","__proto__":"y"}`,
      undefined,
      [["x", "y"], `{"a":"tmp-x","__proto__":"tmp-y"}`]
    ],
    [
      "places of a program",
      jq,
      `{"q":["x",{"n":"x"}],"o":"x","k":1.5}`,
      [
        ["q", 0],
        ["q", 1, "n"]
      ],
      [["x", "x"], `{"q":["tmp-x",{"n":"tmp-x"}],"o":"x","k":1.5}`]
    ],
    ["a text of JSON", jq, `"x"`, [[]], [["x"], `"tmp-x"`]]
  ])("are found and replaced in %s", (_, form, value, paths, found) => {
    expect(renamed(form, value, paths)).toEqual(found)
  })

  it("leave the value as it is where each is replaced by itself, and hold none of the old names otherwise", () => {
    const forms = fc.constantFrom<readonly [ValueForm, (names: ReadonlyArray<string>) => string]>(
      [{ _tag: "Whole" }, ([first = ""]) => first],
      [part("<(.*)>"), ([first = ""]) => `<${first}>`],
      [{ _tag: "JsonMap" }, (names) => JSON.stringify(Object.fromEntries(names.map((one, i) => [`k${i}`, one])))]
    )
    fc.assert(
      fc.property(forms, fc.array(name, { minLength: 1, maxLength: 4 }), ([form, valueOf], names) => {
        const value = valueOf(names)
        const { references, write } = Result.getOrThrow(read(form, value))
        expect(write(references.map(({ text }) => text))).toBe(value)
        expect(write(references.map((_, i) => `new ${i}`))).toBe(valueOf(names.map((_, i) => `new ${i}`)))
      })
    )
  })

  it.each<readonly [string, ValueForm, string, ReadonlyArray<JsonPath>, string]>([
    ["an empty value", { _tag: "Whole" }, "", [], "names no queue of SQS: it is no name."],
    ["one of several texts", { _tag: "JsonMap" }, `{"a":"x","b":"?"}`, [], "names no queue of SQS: it is no name."],
    ["no match", part("q=(.*)"), "orders", [], 'does not hold what the valuePattern "q=(.*)" finds'],
    ["no JSON", { _tag: "JsonMap" }, "{", [], "is no JSON object"],
    ["a list", { _tag: "JsonMap" }, `["orders"]`, [], "is no JSON object"],
    ["a number in an object", { _tag: "JsonMap" }, `{"a":"x","b":1}`, [], 'has at "b" no text that could name a queue'],
    ["an object without a queue", { _tag: "JsonMap" }, "{}", [], "names no queue, but"],
    ["no JSON for a program", jq, "orders", [[]], "is no JSON, which its valueSelector needs"],
    ["a place that is not there", jq, `{"a":["x"]}`, [["a", "length"]], 'has at "a.length" no text'],
    [
      "a value without end",
      jq,
      `{"q":"x","n":${"[".repeat(50_000)}${"]".repeat(50_000)}}`,
      [["q"]],
      "nested too deeply"
    ],
    ["a place that objects inherit", jq, "{}", [["constructor", "name"]], "no text"],
    [
      "a number that would change",
      jq,
      `{"q":"x","n":12345678901234567890}`,
      [["q"]],
      "has a number of more digits than can be kept"
    ]
  ])("refuse %s", (_, form, value, paths, problem) => {
    const failure = failureOf(read(form, value, paths))
    expect(failure).toContain('The variable "Q" of the container "app" ')
    expect(failure).toContain(problem)
  })

  it("ask for each run of jq once, and name its failure", () => {
    const all = [variable(jq, "1"), variable({ _tag: "Whole" }, "2"), variable(jq, "1"), variable(jq, "3")]
    expect(jqRequests(all)).toEqual([
      { program: "..", value: "1" },
      { program: "..", value: "3" }
    ])
    const failed = queuesOfVariable(variable(jq, "1"), readReference, () => Result.fail("took too long"))
    expect(failureOf(failed)).toBe(
      'The variable "Q" of the container "app" cannot be read: the valueSelector took too long.'
    )
  })
})
