import { Text, ThemeIcon } from '@mantine/core';
import type { ReactNode } from 'react';

/** A step of a story, which is a list of the class `story`. */
export function StoryStep({
  icon,
  color,
  title,
  children,
}: {
  icon: ReactNode;
  color: string;
  title: string;
  children: ReactNode;
}) {
  return (
    <li>
      <ThemeIcon className="mark" variant="light" color={color} size={26} radius="xl" aria-hidden>
        {icon}
      </ThemeIcon>
      <Text fw={600}>{title}</Text>
      <Text size="sm" component="div">
        {children}
      </Text>
    </li>
  );
}
