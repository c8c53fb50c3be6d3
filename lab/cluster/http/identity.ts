/**
 * Callers of the API server: their names and groups, and the groups with a meaning of their own. They are found in
 * `authentication.ts`, their rights in `rbac.ts`.
 */

export interface Identity {
  readonly user: string
  readonly groups: ReadonlyArray<string>
  readonly uid?: string
  readonly extra: Readonly<Record<string, ReadonlyArray<string>>>
}

export const anonymous: Identity = { user: "system:anonymous", groups: ["system:unauthenticated"], extra: {} }

export const mastersGroup = "system:masters"
export const authenticatedGroup = "system:authenticated"
