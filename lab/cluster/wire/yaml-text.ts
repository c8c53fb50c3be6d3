/**
 * YAML as Go's libraries read it, with a real server's words about duplicate keys. JSON bodies have
 * `duplicate-fields.ts` for the same purpose.
 */

import { LineCounter, type Tags, parseDocument } from "yaml"

export interface YamlText {
  readonly value: unknown
  /** A real server's sentences about duplicate keys. The last value counts. */
  readonly duplicates: ReadonlyArray<string>
}

const isTime = (tag: unknown): boolean =>
  typeof tag === "object" &&
  tag !== null &&
  (("format" in tag && tag.format === "TIME") || ("tag" in tag && tag.tag === "tag:yaml.org,2002:timestamp"))

/** Version 1.1, in which `y` and `on` are booleans; but dates and `1:30` stay text. */
export const yamlOfGo = {
  version: "1.1",
  customTags: (tags: Tags): Tags => tags.filter((tag) => !isTime(tag))
} as const

/** Reads one document. Throws a YAMLParseError at bad syntax. */
export const parseYaml = (text: string): YamlText => {
  const lineCounter = new LineCounter()
  const document = parseDocument(text, { ...yamlOfGo, lineCounter, prettyErrors: false })
  const problem = document.errors.find(({ code }) => code !== "DUPLICATE_KEY")
  if (problem !== undefined) throw problem
  const duplicates = document.errors.map(({ pos: [start] }) => {
    const [key = ""] = /^[^\s:]+/.exec(text.slice(start)) ?? []
    return (
      `line ${lineCounter.linePos(start).line}: key ${JSON.stringify(key.replaceAll(/["']/g, ""))} already set in ` +
      "map"
    )
  })
  return { value: document.toJS(), duplicates }
}
