/**
 * The file of `--trace`: workers write the events of their stories to parts, and the command joins the parts in order.
 */

import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeSync } from "node:fs"
import { Effect, type Scope } from "effect"

/** A trace that grows story by story. */
export interface TraceFile {
  /** The file to which a worker writes the events of a story. */
  readonly part: (number: number) => string
  /** Moves the part of a story to the end of the trace; called in the stories' order. */
  readonly append: (number: number) => void
}

/** Opens and empties a trace, which is closed with the scope. Fails with a sentence if the file cannot be written. */
export const openTrace = (file: string): Effect.Effect<TraceFile, { readonly message: string }, Scope.Scope> =>
  Effect.gen(function* () {
    const { descriptor, folder } = yield* Effect.try({
      // Beside the trace, because the parts of a long run may not fit on the disk of temporary files.
      try: () => ({ descriptor: openSync(file, "w"), folder: mkdtempSync(`${file}.parts-`) }),
      catch: (error) => ({
        message: `--trace: ${file} cannot be written: ${error instanceof Error ? error.message : String(error)}`
      })
    })
    yield* Effect.addFinalizer(() =>
      Effect.sync(() => {
        closeSync(descriptor)
        rmSync(folder, { recursive: true, force: true })
      })
    )
    const part = (number: number): string => `${folder}/${number}${file.endsWith(".gz") ? ".gz" : ""}`
    return {
      part,
      append: (number) => {
        // A story whose worker died has written nothing.
        const bytes = readPart(part(number))
        for (let at = 0; at < bytes.length;) at += writeSync(descriptor, bytes, at)
        rmSync(part(number), { force: true })
      }
    }
  })

const readPart = (file: string): Uint8Array => {
  try {
    return readFileSync(file)
  } catch {
    return new Uint8Array()
  }
}
