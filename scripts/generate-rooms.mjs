// @ts-check
/**
 * Writes the tables of rooms in CONTRIBUTING.md and docs/concepts/architecture.md from the table of walls in
 * lint-walls.mjs. With --check nothing is written, and exit code 1 names the pages that differ.
 */

import { readFileSync, writeFileSync } from "node:fs"
import { dirname, posix } from "node:path"
import { holds, mayImport } from "./lint-walls.mjs"

const root = new URL("..", import.meta.url)
const begin = "<!-- rooms: written by scripts/generate-rooms.mjs -->"
const end = "<!-- end of rooms -->"

/** The floor of a room: `src/domain`, `src/app`, `lab`, … @param {string} room */
const floorOf = (room) =>
  room
    .split("/")
    .slice(0, room.startsWith("src/") ? 2 : 1)
    .join("/")

/** Floors below are for all rooms of a floor, so a row names the rooms of its own alone. @param {string} room */
const importsOf = (room) => {
  const floor = floorOf(room)
  const own = (mayImport[room] ?? []).filter((other) => other.startsWith(`${floor}/`))
  const below = (mayImport[room] ?? []).filter((other) => floorOf(other) !== floor && room === floor)
  const names = [...own.map((other) => other.slice(floor.length + 1)), ...below]
  return names.length === 0 ? "–" : names.map((name) => `\`${name}\``).join(", ")
}

/** Links are written as from the repository's folder. @param {string} text @param {string} page */
const linked = (text, page) =>
  text.replaceAll(/\]\(([^)]+)\)/gu, (_, /** @type {string} */ path) => `](${posix.relative(dirname(page), path)})`)

/** @type {Readonly<Record<string, () => ReadonlyArray<string>>>} */
const tables = {
  "CONTRIBUTING.md": () => [
    "| room | holds | may import, of its own floor |",
    "|---|---|---|",
    ...Object.keys(mayImport).map((room) => `| \`${room}\` | ${holds[room]} | ${importsOf(room)} |`)
  ],
  "docs/concepts/architecture.md": () => [
    "| room | holds |",
    "|---|---|",
    ...Object.keys(mayImport)
      .filter((room) => room.startsWith("src/") || room === "lab")
      .map((room) => `| \`${room}\` | ${holds[room]} |`)
  ]
}

const problems = [
  ...Object.keys(mayImport)
    .filter((room) => holds[room] === undefined)
    .map((room) => `${room} has no line in holds of scripts/lint-walls.mjs: say what it holds`),
  ...Object.keys(holds)
    .filter((room) => mayImport[room] === undefined)
    .map((room) => `${room} has a line in holds of scripts/lint-walls.mjs, and no row in mayImport: remove it`)
]

const block = new RegExp(`${begin}\n[^]*?\n${end}`, "u")

/** The page with its table as it should be, or `undefined` without a place for it. @param {string} page */
const rewritten = (page) => {
  const text = readFileSync(new URL(page, root), "utf8")
  if (!block.test(text)) problems.push(`${page} has no lines ${begin} and ${end}`)
  const table = linked((tables[page]?.() ?? []).join("\n"), page)
  const now = text.replace(block, () => `${begin}\n${table}\n${end}`)
  return { page, now, isSame: now === text }
}

if (process.argv.includes("--help")) {
  console.log(`node scripts/generate-rooms.mjs [--check]

Writes the tables of rooms in ${Object.keys(tables).join(" and ")}; --check only compares.`)
} else {
  const stale = Object.keys(tables)
    .map(rewritten)
    .filter(({ isSame }) => !isSame)
  const isCheck = process.argv.includes("--check")
  if (!isCheck && problems.length === 0) for (const { now, page } of stale) writeFileSync(new URL(page, root), now)
  const names = stale.map(({ page }) => page).join(", ")
  if (isCheck && stale.length > 0)
    problems.push(`Not what scripts/lint-walls.mjs says: ${names}. Run: node scripts/generate-rooms.mjs`)
  for (const problem of problems) console.error(problem)
  process.exitCode = problems.length === 0 ? 0 : 1
  if (problems.length === 0)
    console.log(stale.length === 0 ? "the tables of rooms are up to date" : `written: ${names}`)
}
