import { execFile, type ExecFileOptions } from "node:child_process"

/** As `spawnSync`, for what may take long: a worker of vitest that does not answer for a minute counts as lost. */
export const runProgram = (
  command: string,
  args: ReadonlyArray<string>,
  options: Pick<ExecFileOptions, "cwd" | "env"> = {}
) =>
  new Promise<{ readonly status: number | null; readonly stdout: string; readonly stderr: string }>(
    (resolve, reject) => {
      const child = execFile(command, args, { ...options, maxBuffer: 1 << 26 }, (error, stdout, stderr) => {
        if (child.pid === undefined) reject(error ?? new Error(`${command} did not start`))
        else resolve({ status: child.exitCode, stdout, stderr })
      })
    }
  )
