/**
 * The command `npm run vectors`: checks files of golden vectors and prints what differs. The check is in
 * `golden-vectors.ts`.
 */

import { readFileSync } from "node:fs"
import { parseArgs } from "node:util"
import { checkVectors } from "./golden-vectors.ts"

const help = `npm run vectors -- FILE…

Checks the codec of the mirrord protocol against golden vectors: one JSON object per line, either a message
  {"id": …, "dir": "client"|"daemon", "hex": …, "value": …, "unordered": true, "canonical": hex, "used": bytes}
("unordered", "canonical" and "used" are optional) or bytes that are none
  {"dir": …, "hex": …, "why": "incomplete"|"invalid", "note": …}
Decoding must give the value, encoding it the bytes ("canonical" if given; by value if unordered), and skipping must end
at the same byte ("used" if given, else the last). Prints a line per failure, then "N passed, N failed". Exit code 1 on
any failure, a file that cannot be read and a line that is no vector included; 2 for a wrong command line.

  --help  this text`

const reason = (error: unknown): string => (error instanceof Error ? error.message : String(error))

const checkFile = (file: string): ReadonlyArray<string | undefined> => {
  let text: string
  try {
    text = readFileSync(file, "utf8")
  } catch (error) {
    return [`${file}: cannot be read: ${reason(error)}`]
  }
  const results = checkVectors(text)
  if (results.length === 0) return [`${file}: holds no vectors`]
  return results.map(({ line, failure }) => (failure === undefined ? undefined : `${file}:${line}: ${failure}`))
}

const main = (args: ReadonlyArray<string>): number => {
  let files: ReadonlyArray<string>
  try {
    const parsed = parseArgs({ args: [...args], options: { help: { type: "boolean" } }, allowPositionals: true })
    if (parsed.values.help) {
      console.log(help)
      return 0
    }
    files = parsed.positionals
    if (files.length === 0) throw new Error("no FILE given")
  } catch (error) {
    console.error(`vectors: ${reason(error)}\n\n${help}`)
    return 2
  }
  const results = files.flatMap(checkFile)
  const failures = results.filter((failure) => failure !== undefined)
  for (const failure of failures) console.log(failure)
  console.log(`${results.length - failures.length} passed, ${failures.length} failed`)
  return failures.length === 0 ? 0 : 1
}

process.exitCode = main(process.argv.slice(2))
