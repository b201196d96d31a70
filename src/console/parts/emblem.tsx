/** The sign of Gatehouse: an arch with an open gate. */
export function Emblem({ size = 28 }: { size?: number }) {
  return (
    <svg width={size} height={size} viewBox="0 0 32 32" aria-hidden focusable="false">
      <rect width="32" height="32" rx="8" fill="var(--mantine-color-gate-8)" />
      <path d="M7 26V14a9 9 0 0 1 18 0v12h-4.5V14.5a4.5 4.5 0 0 0-9 0V26z" fill="#fff" />
      <path d="M14.5 26v-5h3v5z" fill="var(--mantine-color-gate-2)" />
    </svg>
  );
}
