/** The life of a worker process: one piece of work after the other, until the command that started it is gone. */

/** Serves work. `Work` and `Answer` are those of the pool that starts the process. */
export const serveWork = <Work, Answer extends object>(doWork: (work: Work) => Answer | Promise<Answer>): void => {
  // Ctrl-C reaches the whole process group, but the command decides when its workers end.
  process.on("SIGINT", () => undefined)
  process.on("disconnect", () => process.exit(0))
  process.on("message", async (work: Work) => {
    process.send?.(await doWork(work))
  })
}
