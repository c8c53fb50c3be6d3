/** The schema of the chart's values, as an editor asks it: the first of the two alternatives of each value. */

import { readFileSync } from "node:fs"
import { join } from "node:path"
import { Ajv } from "ajv"
import { parse } from "yaml"
import { defaults, leavesOf } from "./chart-values.ts"
import { chartFolder } from "./chart.ts"
import { asList, asMap, asText, at } from "./json.ts"

export const valuesSchema: unknown = JSON.parse(readFileSync(join(chartFolder, "values.schema.json"), "utf8"))
const ajv = new Ajv({ strict: false })

export const advised = (field: unknown): ((value: unknown) => boolean) => {
  const validate = ajv.compile(asMap(asList(at(field, "anyOf"))[0]))
  return (value) => validate(value) === true
}

const known: unknown = parse(readFileSync(join(chartFolder, "files/known-values.yaml"), "utf8"))
/** Of these the templates refuse less than an editor: the text "" is taken where there is no value. */
const kinds = [
  "address",
  "bound",
  "cellAddress",
  "name",
  "namespace",
  "operatorMemory",
  "pull",
  "preemption",
  "priority",
  "quantity",
  "share",
  "text",
  "truth",
  "userPrefix",
  "whole"
]

/** The values whose kind decides alone whether they are refused; a page at an ingress needs others beside it. */
export const advisedLeaves = leavesOf(defaults)
  .filter((path) => path.join(".") !== "dashboard.ingress.enabled")
  .filter((path) => kinds.includes(asText(at(known, ...path) ?? "")))
  .map((path) => ({
    path,
    advises: advised(at(valuesSchema, ...path.flatMap((name) => ["properties", name])))
  }))
