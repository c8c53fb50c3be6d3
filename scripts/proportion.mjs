// @ts-check
/**
 * Prints how many lines of tests and workshop there are for a line of product: by room of `src` with the tests that
 * mirror it, and as a whole. A new capability's tests and its part of lab have at most 1.5 times its lines
 * (CONTRIBUTING.md).
 */

import { readdirSync, readFileSync } from "node:fs"
import path from "node:path"

const root = path.dirname(import.meta.dirname)

/** Lines of the TypeScript below a folder, by file. @param {string} folder @returns {ReadonlyMap<string, number>} */
const linesBelow = (folder) => {
  const files = readdirSync(path.join(root, folder), { recursive: true, encoding: "utf8" })
  return new Map(
    files
      .filter((file) => file.endsWith(".ts") && !file.includes("node_modules"))
      .map((file) => [file, readFileSync(path.join(root, folder, file), "utf8").split("\n").length - 1])
  )
}

/** Floor and room of a file below `src` or `test`: `app/branches`. @param {string} file */
const roomOf = (file) => file.split(path.sep).slice(0, -1).slice(0, 2).join("/")

/** @param {ReadonlyMap<string, number>} lines */
const byRoom = (lines) => {
  /** @type {Map<string, number>} */
  const rooms = new Map()
  for (const [file, count] of lines) rooms.set(roomOf(file), (rooms.get(roomOf(file)) ?? 0) + count)
  return rooms
}

/** @param {Iterable<number>} counts */
const sum = (counts) => [...counts].reduce((total, count) => total + count, 0)

const [src, test, lab] = ["src", "test", "lab"].map(linesBelow)
if (src === undefined || test === undefined || lab === undefined) throw new Error("a folder is missing")
const mirrored = byRoom(test)
const rows = [...byRoom(src)].map(([room, count]) => ({ room, count, tests: mirrored.get(room) ?? 0 }))
for (const { room, count, tests } of rows.filter(({ count }) => count >= 300).toSorted((a, b) => b.count - a.count))
  console.log(
    `${(tests / count).toFixed(2).padStart(6)}  ${String(count).padStart(6)} : ${String(tests).padEnd(6)} ${room}`
  )
const [product, further] = [sum(src.values()), sum(test.values()) + sum(lab.values())]
console.log(
  `src ${product}, test ${sum(test.values())}, lab ${sum(lab.values())}: ${(further / product).toFixed(2)} : 1`
)
