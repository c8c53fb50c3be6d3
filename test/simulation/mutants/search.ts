/**
 * `node test/simulation/mutants/search.ts [NAME…]`: tells every planted mistake the stories from 1 on, notes the first
 * that finds it in its file, and writes the table in docs/simulation.md. Run it after a change of verbs, weights or
 * invariants.
 */

import { readFileSync, writeFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { parseDocument } from "yaml"
import { runStory } from "../../../lab/simulation/story/run-story.ts"
import { findMistake, type Mutant, mostStories, mutants } from "./mutant.ts"
import { storyOfSeries } from "./story-of-series.ts"
import { tableOf, writeTable } from "./table.ts"

const atOnce = 2

/** Whether the unchanged program breaks something in this story. Then the story says nothing about a mistake. */
const isBroken = ({ series }: Mutant, story: number): boolean =>
  runStory(storyOfSeries(series, story)).violations.length > 0

const search = async (mutant: Mutant): Promise<Mutant> => {
  for (let from = 1; from <= mostStories;) {
    const found = await findMistake(mutant, { from, to: mostStories })
    if (found === undefined) break
    from = found.story + 1
    if (isBroken(mutant, found.story)) continue
    console.log(`${mutant.name}: story ${found.story}, ${found.id}: ${found.detail}`)
    const file = fileURLToPath(new URL(`${mutant.name}.yaml`, import.meta.url))
    const document = parseDocument(readFileSync(file, "utf8"))
    const note = { story: found.story, invariant: found.id }
    document.set("found", note)
    writeFileSync(file, document.toString({ lineWidth: 0, flowCollectionPadding: false }))
    return { ...mutant, found: note }
  }
  console.log(`${mutant.name}: not found within ${mostStories} stories`)
  process.exitCode = 1
  return mutant
}

const wanted = new Set(process.argv.slice(2))
const results = new Map(mutants.map((mutant) => [mutant.name, mutant]))
const queue = mutants.filter(({ name }) => wanted.size === 0 || wanted.has(name))
await Promise.all(
  Array.from({ length: atOnce }, async () => {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) results.set(next.name, await search(next))
  })
)
writeTable(tableOf([...results.values()].filter(({ found }) => found !== undefined)))
