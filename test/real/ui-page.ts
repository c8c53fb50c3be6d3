/** The page of `mirrord ui` and its token, as `mirrord ui start` prints them. */
export const uiPage = (started: string): { readonly page: string; readonly token: string } => {
  const [, page = "", token = ""] = /(http:\/\/127\.0\.0\.1:\d+\/)auth\?token=(\w+)/.exec(started) ?? []
  return { page, token }
}

/** The sessions that the page lists. */
export const uiSessions = async ({ page, token }: ReturnType<typeof uiPage>): Promise<unknown> =>
  (await fetch(`${page}api/operator-sessions`, { headers: { "x-auth-token": token } })).json()
