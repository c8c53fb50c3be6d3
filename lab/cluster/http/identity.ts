/** Who makes a request, as authentication found out. */
export interface Identity {
  readonly user: string
  readonly groups: ReadonlyArray<string>
  readonly uid?: string
  readonly extra: Readonly<Record<string, ReadonlyArray<string>>>
}

export const anonymous: Identity = { user: "system:anonymous", groups: ["system:unauthenticated"], extra: {} }

export const mastersGroup = "system:masters"
export const authenticatedGroup = "system:authenticated"
