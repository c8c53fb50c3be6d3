/**
 * Another user from here on. In a user namespace it is a name for ourselves, which is as good but for who may read our
 * files.
 */
export const asUser = (id: number): ReadonlyArray<string> =>
  process.getuid?.() === 0 ? [`--setgid=${id}`, `--setuid=${id}`] : ["--user", `--map-user=${id}`, `--map-group=${id}`]
