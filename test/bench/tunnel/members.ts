/** A thousand members that dial one cell: their memory, and storms in which all dial at once. */

import { spread } from "../spread.ts"
import { ours, type Program, type Workshop } from "./programs.ts"

const cellProgram = ours(new URL("./cell-of-many.ts", import.meta.url))
const outpostsProgram = ours(new URL("./outposts.ts", import.meta.url))
const count = 1_000
const kibibyte = 1024

/** In bytes, after a collection of garbage. */
interface Memory {
  readonly rss: number
  readonly heap: number
}

/** The cell and the members are gone, then both begin: s until each member can be reached. */
const storm = async (cell: Program, outposts: Program): Promise<number> => {
  await Promise.all([cell.ask({ what: "stop" }), outposts.ask({ what: "stop" })])
  const begun = performance.now()
  await Promise.all([cell.ask({ what: "start" }), outposts.ask({ what: "start" })])
  await cell.ask({ what: "all" })
  return (performance.now() - begun) / 1_000
}

export async function* members(workshop: Workshop, isShort: boolean): AsyncGenerator<string> {
  const cell = workshop.start("cell of many", "near", [...cellProgram, workshop.folder, String(count)])
  const { port } = await cell.heard<{ readonly port: number }>()
  const outposts = workshop.start("outposts", "far", [...outpostsProgram, workshop.folder, String(port)])
  await outposts.heard()
  const memory = (): Promise<Memory> => cell.ask({ what: "memory" })
  const before = await memory()
  const seconds = [await storm(cell, outposts)]
  const first = await memory()
  const each = (kind: keyof Memory): string => ((first[kind] - before[kind]) / kibibyte / count).toFixed(1)
  yield `\n${count} idle members, KiB each at the cell: resident ${each("rss")}, heap and buffers ${each("heap")}`
  for (let more = 0; more < (isShort ? 1 : 9); more++) seconds.push(await storm(cell, outposts))
  const last = await memory()
  const ratio = (last.heap / first.heap).toFixed(3)
  yield `storm of ${count}, s until all can be reached (their own spread is 5 s): ${spread(seconds, 1)}`
  yield `heap and buffers of the cell after ${seconds.length} storms, against one: ×${ratio}`
}
