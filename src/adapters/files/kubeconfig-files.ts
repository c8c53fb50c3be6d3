/**
 * Reads files and directories of the operator's pod that hold kubeconfigs.
 *
 * Not here: what the files hold (domain/fleet/kubeconfig.ts), and when they are read (app/fleet/kubeconfig-files.ts).
 */

import { readdir, readFile, realpath } from "node:fs/promises"
import { join } from "node:path"
import { Effect, Result } from "effect"

const reasonOf = (error: unknown): string => {
  const code = error instanceof Error && "code" in error ? String(error.code) : String(error)
  return code === "ENOENT"
    ? "it does not exist; make the Secret that is mounted there, or correct the path"
    : `it cannot be read (${code}); put the Secret right that is mounted there`
}

const attempt = <A>(read: () => Promise<A>): Effect.Effect<Result.Result<A, string>> =>
  Effect.promise(() =>
    read().then(Result.succeed, (error: unknown): Result.Result<A, string> => Result.fail(reasonOf(error)))
  )

/** The text of a file; the failure is a clause. */
export const readText = (path: string): Effect.Effect<Result.Result<string, string>> =>
  attempt(() => readFile(path, "utf8"))

/** The names in a directory; the failure is a clause. */
const namesIn = (path: string): Effect.Effect<Result.Result<ReadonlyArray<string>, string>> =>
  attempt(() => readdir(path))

/** The directory behind a mounted Secret: a kubelet changes it by exchanging the link `..data`. */
const behind = (path: string): Effect.Effect<string> =>
  Effect.promise(() => realpath(join(path, "..data")).catch(() => ""))

/** The texts of the files of one moment that a directory has, by their names; the failure is a clause. */
export const readTexts = Effect.fnUntraced(function* (
  path: string
): Effect.fn.Return<Result.Result<ReadonlyMap<string, Result.Result<string, string>>, string>> {
  const before = yield* behind(path)
  const names = yield* namesIn(path)
  if (Result.isFailure(names)) return Result.fail(names.failure)
  const files = names.success.filter((name) => !name.startsWith("."))
  const texts = yield* Effect.forEach(files, (name) =>
    Effect.map(readText(join(path, name)), (text) => [name, text] as const)
  )
  return before === (yield* behind(path)) ? Result.succeed(new Map(texts)) : yield* readTexts(path)
})
