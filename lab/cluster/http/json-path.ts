/**
 * The JSONPath of printer columns (`additionalPrinterColumns`), as far as custom resources use it. No general JSONPath:
 * a form that is not understood gives an empty cell.
 */

import { isObject } from "../../../src/domain/json.ts"

/** Splits `.a['b'].c[0].d[?(@.type=="x")].e` into its steps. */
const stepPattern =
  /\.?\*|\.([A-Za-z0-9_/-]+(?:\\\.[A-Za-z0-9_/-]+)*)|\['((?:[^'\\]|\\.)*)'\]|\["((?:[^"\\]|\\.)*)"\]|\[(\d+|\*)\]|\[\?\(\s*@\.([\w.-]+)\s*==\s*(?:"([^"]*)"|'([^']*)'|([\w.-]+))\s*\)\]/y

const children = (value: unknown): ReadonlyArray<unknown> => {
  if (Array.isArray(value)) return value
  return isObject(value) ? Object.values(value) : []
}

const field = (value: unknown, key: string): unknown =>
  isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined

/** The first value at the path; `undefined` if there is none or the path is not understood. */
export const evaluateJsonPath = (object: unknown, path: string): unknown => {
  let values: ReadonlyArray<unknown> = [object]
  const text = path.replace(/^\{/, "").replace(/\}$/, "").replace(/^\$/, "")
  stepPattern.lastIndex = 0
  while (stepPattern.lastIndex < text.length) {
    const match = stepPattern.exec(text)
    if (match === null) return undefined
    const [whole, dotted, single, double, index, key, ...wanted] = match
    const name = (dotted ?? single ?? double)?.replaceAll(/\\(.)/g, "$1")
    if (name !== undefined) values = values.map((value) => field(value, name))
    else if (whole.endsWith("*") || index === "*") values = values.flatMap(children)
    else if (index !== undefined)
      values = values.map((value) => (Array.isArray(value) ? value[Number(index)] : undefined))
    else if (key !== undefined) {
      const expected = wanted.find((item) => item !== undefined)
      values = values.flatMap(children).filter((item) => {
        const found = key.split(".").reduce(field, item)
        return found !== undefined && String(found) === expected
      })
    }
    values = values.filter((value) => value !== undefined)
  }
  return values[0]
}
