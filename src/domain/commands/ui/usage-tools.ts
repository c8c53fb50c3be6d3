/**
 * The functions of the usage page that run in a browser. A page has each as its text, so each stands by itself: it uses
 * nothing but its arguments and the language.
 */

import { hoursSaved, hoursText, readMinutes, roundedCount } from "../../usage/return-on-investment.ts"

/** A cell of a table: its text, and where that sorts otherwise than as a text, its number. */
export type UsageCell = string | readonly [text: string, number: number]
export type UsageRow = ReadonlyArray<UsageCell>

/** How a person looks at a table. */
export interface TableLook {
  /** Words in lower case, all of which a row must have. */
  readonly words: ReadonlyArray<string>
  /** Index of the column by which rows are sorted. */
  readonly column: number
  readonly isDescending: boolean
  /** From 0. A page that does not exist is the last one. */
  readonly page: number
}

export interface TableView {
  readonly rows: ReadonlyArray<UsageRow>
  /** How many rows have the words. */
  readonly found: number
  /** The page that is shown, from 0, of how many; there is always one. */
  readonly page: number
  readonly pages: number
}

/** The rows of a page of a table: filtered, sorted, 20 at a time. Equal rows stay in their order. */
export const tableView = (all: ReadonlyArray<UsageRow>, look: TableLook): TableView => {
  const size = 20
  const { column, isDescending, page, words } = look
  const textOf = (cell: UsageCell | undefined): string => (typeof cell === "string" ? cell : (cell?.[0] ?? ""))
  const has = (row: UsageRow): boolean => {
    const text = row.map(textOf).join(" ").toLowerCase()
    return words.every((word) => text.includes(word))
  }
  const compared = (a: UsageCell | undefined, b: UsageCell | undefined): number => {
    if (typeof a === "object" && typeof b === "object") return a[1] - b[1]
    const [left, right] = [textOf(a).toLowerCase(), textOf(b).toLowerCase()]
    return left < right ? -1 : Number(left > right)
  }
  const found = words.length === 0 ? all : all.filter(has)
  const sorted = found.toSorted((a, b) => (isDescending ? -1 : 1) * compared(a[column], b[column]))
  const pages = Math.max(1, Math.ceil(found.length / size))
  const shown = Math.min(Math.max(0, page), pages - 1)
  return { rows: sorted.slice(shown * size, (shown + 1) * size), found: found.length, page: shown, pages }
}

/** The periods that have names. */
export type NamedPeriod = "month" | "last-month" | "7-days" | "30-days" | "90-days" | "year" | "all"

/** Days of UTC as `2026-11-29`; empty: since the first session, or up to now. */
export interface UsagePeriod {
  readonly from: string
  /** The last day, which is in the period. */
  readonly to: string
}

/** A period by its name. `now`: epoch ms. */
export const periodOf = (name: NamedPeriod, now: number): UsagePeriod => {
  const day = (at: number): string => new Date(at).toISOString().slice(0, 10)
  const today = new Date(now)
  const [year, month, date] = [today.getUTCFullYear(), today.getUTCMonth(), today.getUTCDate()]
  const lately = (days: number): UsagePeriod => ({ from: day(Date.UTC(year, month, date - days + 1)), to: "" })
  switch (name) {
    case "month":
      return { from: day(Date.UTC(year, month, 1)), to: "" }
    case "last-month":
      return { from: day(Date.UTC(year, month - 1, 1)), to: day(Date.UTC(year, month, 0)) }
    case "7-days":
      return lately(7)
    case "30-days":
      return lately(30)
    case "90-days":
      return lately(90)
    case "year":
      return { from: day(Date.UTC(year, 0, 1)), to: "" }
    case "all":
      return { from: "", to: "" }
  }
}

export const usageTools = { tableView, periodOf, readMinutes, hoursSaved, hoursText, roundedCount }
export type UsageTools = typeof usageTools
