import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeSync } from "node:fs"
import { Effect, type Scope } from "effect"

/** A trace that grows story by story. */
export interface TraceFile {
  /** Where a worker writes the events of a story. */
  readonly part: (number: number) => string
  /** Moves what was written for a story to the end of the trace; called in the stories' order. */
  readonly append: (number: number) => void
}

/** Opens a trace, empties it, and ends with the scope. Fails with a sentence if it cannot be written. */
export const openTrace = (file: string): Effect.Effect<TraceFile, { readonly message: string }, Scope.Scope> =>
  Effect.gen(function* () {
    const { descriptor, folder } = yield* Effect.try({
      // Beside the trace, since parts of a long run may not fit where temporary files are.
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
