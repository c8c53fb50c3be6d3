/** Values over values, as helm puts them together. */

const isMap = (value: unknown): value is object => typeof value === "object" && value !== null && !Array.isArray(value)

const over = (below: object, above: object, keepsNull: boolean): object => {
  const found = new Map<string, unknown>(Object.entries(below))
  for (const [key, value] of Object.entries(above)) {
    const other = found.get(key)
    if (value === null && !keepsNull) found.delete(key)
    else found.set(key, isMap(other) && isMap(value) ? over(other, value, keepsNull) : value)
  }
  return Object.fromEntries(found)
}

/** One values file over another; null is a value. */
export const merged = (below: object, above: object): object => over(below, above, true)

/** The user's values over the chart's own, as the templates get them: null takes a value of the chart away. */
export const coalesced = (own: object, users: object): object => over(own, users, false)
