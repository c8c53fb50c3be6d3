/**
 * `node test/simulation/mutants/search.ts [NAME…]`: tells every planted mistake the stories from 1 on, notes the first
 * that finds it in its file, and writes the table in docs/reference/planted-mistakes.md. Run it after a change of
 * verbs, weights or invariants.
 */

import { readFileSync, writeFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { Effect } from "effect"
import { parseDocument } from "yaml"
import { type FindMistake, makeTellers, type Mutant, maxStories, mutants } from "./mutant.ts"
import { tableOf, writeTable } from "./table.ts"
import { tellerOf } from "./tell-story.ts"

const atOnce = 2

/** Whether the unchanged program breaks something in this story. Then the story says nothing about a mistake. */
const isBroken = ({ series }: Mutant, story: number): Effect.Effect<boolean> =>
  Effect.promise(async () => (await (await tellerOf(series))(story)).length > 0)

const search = (find: FindMistake, mutant: Mutant): Effect.Effect<Mutant> =>
  Effect.gen(function* () {
    for (let from = 1; from <= maxStories;) {
      const found = yield* find({ mutant, from, to: maxStories })
      if (found === undefined) break
      from = found.story + 1
      if (yield* isBroken(mutant, found.story)) continue
      console.log(`${mutant.name}: story ${found.story}, ${found.id}: ${found.detail}`)
      const file = fileURLToPath(new URL(`${mutant.name}.yaml`, import.meta.url))
      const document = parseDocument(readFileSync(file, "utf8"))
      const note = { story: found.story, invariant: found.id }
      document.set("found", note)
      writeFileSync(file, document.toString({ lineWidth: 0, flowCollectionPadding: false }))
      return { ...mutant, found: note }
    }
    console.log(`${mutant.name}: not found within ${maxStories} stories`)
    process.exitCode = 1
    return mutant
  })

const wanted = new Set(process.argv.slice(2))
const searched = Effect.gen(function* () {
  const find = yield* makeTellers(atOnce)
  return yield* Effect.forEach(
    mutants,
    (mutant) => (wanted.size === 0 || wanted.has(mutant.name) ? search(find, mutant) : Effect.succeed(mutant)),
    { concurrency: atOnce }
  )
})
const results = await Effect.runPromise(Effect.scoped(searched))
writeTable(tableOf(results.filter(({ found }) => found !== undefined)))
