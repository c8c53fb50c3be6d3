/** YAML as Go's libraries read it. */

import { type Tags, parse } from "yaml"

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
export const parseYaml = (text: string): unknown => parse(text, { ...yamlOfGo, prettyErrors: false })
