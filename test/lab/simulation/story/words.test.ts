/** Single words of stories: values, and the sentences about mistakes. */

import { Result } from "effect"
import { describe, expect, it } from "vitest"
import {
  afterArrow,
  duration,
  exactly,
  isArrow,
  nameWord,
  nearest,
  nothingMore,
  oneOf,
  portWord,
  versionWord,
  regex,
  someText,
  span,
  wholeNumber,
  wholeSeconds
} from "../../../../lab/simulation/story/words.ts"

const ok = <A>(value: A) => Result.succeed(value)

describe("words", () => {
  it.each([
    ["250ms", 250],
    ["0s", 0],
    ["60s", 60_000],
    ["5m", 300_000],
    ["2h", 7_200_000]
  ])("%s is a duration of %i ms", (word, ms) => expect(duration(word)).toEqual(ok(ms)))

  it.each([undefined, "", "5", "s", "1.5s", "-5s", "5 s", "5d"])(
    "%j is no duration, and the sentence says so",
    (word) => {
      const read = duration(word)
      expect(Result.isFailure(read) && read.failure).toBe(
        `${JSON.stringify(word ?? "")} is not a duration: write 250ms, 60s, 5m or 2h`
      )
    }
  )

  it.each(["500ms", "1500ms", "0s"])("%s is no number of whole seconds", (word) => {
    const read = wholeSeconds(word)
    expect(Result.isFailure(read) && read.failure).toContain(`"${word}" is not a number of whole seconds`)
  })

  it("whole seconds are seconds", () => {
    expect(wholeSeconds("2m")).toEqual(ok(120))
    expect(wholeSeconds("3000ms")).toEqual(ok(3))
  })

  it.each([
    [portWord("80"), 80],
    [portWord("65535"), 65_535],
    [wholeNumber("0", "a number"), 0],
    [nameWord("cluster-a", "a name"), "cluster-a"],
    [oneOf("b", ["a", "b"]), "b"],
    [versionWord("1.29.0"), "1.29.0"],
    [someText(["two", "words"], "it"), "two words"],
    [regex(["x-user:", "a.*n"]), "x-user: a.*n"],
    [span("1s", "2s"), [1_000, 2_000]],
    [exactly("for", "for"), undefined],
    [nothingMore([]), undefined],
    [afterArrow([], "it"), undefined],
    [afterArrow(["→", "env", "of", "a"], "it"), "env of a"],
    [afterArrow(["->", "s1"], "it"), "s1"]
  ])("reads %j", (read, value) => expect(read).toEqual(ok(value)))

  it.each<readonly [string, Result.Result<unknown, string>, string]>([
    ["a port of 0", portWord("0"), '"0" is not a port'],
    ["a port that is too high", portWord("65536"), '"65536" is not a port'],
    [
      "a word for a number",
      wholeNumber("many", "a number of pods"),
      '"many" is not a number of pods: write a whole number'
    ],
    [
      "a name with a slash",
      nameWord("a/b", "a cluster's name"),
      '"a/b" is not a cluster\'s name: letters, digits and dashes'
    ],
    ["a missing name", nameWord(undefined, "a cluster's name"), '"" is not a cluster\'s name'],
    ["none of several", oneOf("c", ["a", "b"]), '"c" is none of a, b'],
    ["another version", versionWord("2.0"), '"2.0" is not a protocol version: write 1.29.0'],
    ["no text", someText([], "the text"), "the text is missing"],
    ["half a regular expression", regex(["("]), '"(" is not a regular expression'],
    ["a span the wrong way round", span("2s", "1s"), "2s is longer than 1s: write the shorter one first"],
    ["another word", exactly("at", "for"), '"at" should be for'],
    ["words left over", nothingMore(["b", "c"]), '"b c" is too much'],
    ["no arrow", afterArrow(["s1"], "it"), '"s1" should be → or nothing'],
    ["nothing behind the arrow", afterArrow(["→"], "who answers"), "who answers is missing"]
  ])("refuses %s", (_, read, sentence) => expect(Result.isFailure(read) && read.failure).toContain(sentence))

  it("knows both arrows", () => expect(["→", "->", "=>", undefined].map(isArrow)).toEqual([true, true, false, false]))

  it("finds the word that was meant", () => {
    expect(nearest("crahs", ["cut", "crash", "cluster"])).toBe("crash")
    expect(nearest("tikc", ["tick", "skew"])).toBe("tick")
    expect(nearest("x", [])).toBeUndefined()
  })
})
