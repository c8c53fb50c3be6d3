import { LineCounter, type Tags, parseDocument } from "yaml"

export interface YamlText {
  readonly value: unknown
  /** As a real server tells of keys that come twice, of which the last counts. */
  readonly duplicates: ReadonlyArray<string>
}

const isTime = (tag: unknown): boolean =>
  typeof tag === "object" &&
  tag !== null &&
  (("format" in tag && tag.format === "TIME") || ("tag" in tag && tag.tag === "tag:yaml.org,2002:timestamp"))

/**
 * YAML as Go's libraries read it: that of version 1.1, in which `y` and `on` are booleans, but dates and `1:30` are
 * text.
 */
export const yamlOfGo = {
  version: "1.1",
  customTags: (tags: Tags): Tags => tags.filter((tag) => !isTime(tag))
} as const

/** Reads one document. Throws a YAMLParseError. */
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
