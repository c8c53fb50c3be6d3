/**
 * The facts about a database engine from which its branches are made. A new engine is one file in `dialects` and its
 * line in engines.ts.
 *
 * Not here: which copies an engine knows (engines.ts), and the pod (branch-pod.ts).
 */

/** A table that is copied beside what the mode says. Without a filter all of its rows are. */
export interface CopiedPart {
  readonly name: string
  readonly filter: string | undefined
}

/** The programs and the facts of an engine. Scripts are constant texts; all else reaches them as variables. */
export interface Dialect {
  /** Repository of the image of users who name none, without a tag. */
  readonly repository: string
  /** Tag of users who name no version. */
  readonly version: string
  /** TCP port of the server. */
  readonly port: number
  /** The user of the server who may do everything in a branch, and whose password is the branch's. */
  readonly user: string
  /** The user that runs the server in the image: without one of this number its programs do not start. */
  readonly userId: number
  /** Program of the init container, for `sh -c`: makes the data folder with the copy in it, and ends with 0. */
  readonly copyScript: string
  /** Program of the container, for `sh -c`: serves the data folder at the pod's address. */
  readonly serveScript: string
  /** Why a table or its filter cannot be copied; nothing if it can. The sentence goes on after the table's name. */
  readonly partProblem: (part: CopiedPart) => string | undefined
  /** A table's name as the copy script takes it. Only for parts without a problem. */
  readonly partName: (name: string) => string
  /** Why an argument of the dump program cannot be given; nothing if it can. */
  readonly dumpArgumentProblem: (argument: string) => string | undefined
  /** Arguments of the dump program where the user gives none. */
  readonly dumpArguments: ReadonlyArray<string>
}
