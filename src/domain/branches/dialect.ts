/**
 * The facts about a database engine from which its branches are made. A new engine is one file in `dialects`, its
 * folder of programs in src/adapters/engines, and its line in engines.ts.
 *
 * Not here: which copies an engine knows (engines.ts), what its programs are (programs.ts), and the pod
 * (branch-pod.ts).
 */

import type * as Redacted from "effect/Redacted"

/**
 * A table or collection that is copied beside what the mode says, without a filter whole; or a pattern of keys that are
 * copied.
 */
export interface CopiedPart {
  readonly name: string
  readonly filter: string | undefined
}

/** The address and the credentials of a branch. */
export interface BranchAccess {
  /** IP address of the branch's pod. */
  readonly host: string
  readonly port: number
  readonly user: string
  readonly password: Redacted.Redacted
  /** `undefined` if the database has the name that it has in the source. */
  readonly database: string | undefined
}

/** The address of a branch with the form that its engine has for addresses. */
export interface BranchAddress extends BranchAccess {
  readonly form: AddressForm
  /** Query parameters that win over those of the source. */
  readonly query: Readonly<Record<string, string>>
}

/** The form in which applications write the address of a database of an engine. */
export interface AddressForm {
  /** Schemes of its URLs, which a driver's name may follow, as in `postgresql+asyncpg`. The first one is the usual. */
  readonly schemes: ReadonlyArray<string>
  /** Schemes of the same that ask for TLS. */
  readonly secureSchemes?: ReadonlyArray<string>
  /** The scheme of every URL of a branch; `undefined` for that of the source. */
  readonly scheme?: string
  /**
   * Whether a branch asks for neither user nor password: its URL names none, variables with them stay as they are, and
   * the variable of its URL is set even where the target has none.
   */
  readonly hasNoLogin?: boolean
  /** Whether a query parameter, in lower case, says where the database is and who enters it. */
  readonly locates: (parameter: string) => boolean
  /** Whether a query parameter, in lower case, says how the source is secured, which the branch is not. */
  readonly secures: (parameter: string) => boolean
  /** Values of a branch for query parameters, and for parts of a connection that have the same names. */
  readonly own: Readonly<Record<string, string>>
  /** Query parameters that every URL of a branch has. */
  readonly needs?: Readonly<Record<string, string>>
  /** Whether the name of the database is that of the user where the address has none. */
  readonly isNamedAfterUser: boolean
  /**
   * The branch's port in the place of another, where the server has several. `scheme`: the URL's, in lower case; empty
   * where a port stands alone. `old`: empty where there is none. `undefined` if the scheme asks for what a branch does
   * not have.
   */
  readonly portFor?: (scheme: string, old: string) => number | undefined
}

/** The place of a branch's database. */
export interface DatabasePlace {
  /** IP address. */
  readonly host: string
  readonly port: number
  readonly database: string
}

/** The facts of an engine. */
export interface Dialect {
  /** Repository of the image of users who name none, without a tag. */
  readonly repository: string
  /** Tag of users who name no version. */
  readonly version: string
  /** TCP port of the server. */
  readonly port: number
  readonly address: AddressForm
  /** The user of the server who may do everything in a branch, and whose password is the branch's. */
  readonly user: string
  /** The user that runs the server in the image: without one of this number its programs do not start. */
  readonly userId: number
  /** Folder of its programs in src/adapters/engines; engines whose images have the same programs share one. */
  readonly programs: string
  /**
   * A copy names tables, which the mode `all` does not need, patterns of keys, which it alone can have, or collections,
   * which every mode can have; or a branch always begins empty.
   */
  readonly parts: "Tables" | "KeyPatterns" | "Collections" | "None"
  /** The form of a database's name where it is not any text, and the words for it. */
  readonly databaseForm?: { readonly holds: (name: string) => boolean; readonly words: string }
  /** Why a part or its filter cannot be copied; `undefined` if it can. The sentence goes on after the part's name. */
  readonly partProblem: (part: CopiedPart) => string | undefined
  /** A part's name as the copying program takes it. Only for parts without a problem. */
  readonly partName: (name: string) => string
  /** Why an argument of the dump program cannot be given; `undefined` if it can. */
  readonly dumpArgumentProblem: (argument: string) => string | undefined
  /** Arguments of the dump program where the user gives none. */
  readonly dumpArguments: ReadonlyArray<string>
  /** How programs of migrations reach the branch; `undefined` if the engine has no migrations. */
  readonly migrations?: { readonly jdbcUrl: (place: DatabasePlace) => string }
}
