import {
  ActionIcon,
  AppShell,
  Badge,
  Burger,
  Button,
  Group,
  Indicator,
  Menu,
  NavLink,
  ScrollArea,
  Stack,
  Text,
  Tooltip,
  UnstyledButton,
  useComputedColorScheme,
  useMantineColorScheme,
} from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import {
  IconBook,
  IconChevronDown,
  IconKey,
  IconLogout,
  IconMoon,
  IconSun,
  IconUser,
} from '@tabler/icons-react';
import { Suspense, useEffect, useRef } from 'react';
import { Link, Route, Routes, useLocation } from 'react-router';
import { startOf } from './environment.ts';
import { useLive } from './live.ts';
import { NotFound } from './pages/not-found.tsx';
import { AREAS, PLACES } from './places.tsx';
import { Emblem } from './parts/emblem.tsx';
import { Loading } from './parts/records.tsx';
import { When } from './parts/values.tsx';
import { BASE } from './page-facts.ts';
import { replaceSession } from './queries.ts';
import { rest } from './rest-client.ts';
import { useSession } from './signed-in.ts';

/** The frame of the console: header, navigation, and the page that the address names. */
export function Shell() {
  const [isOpen, { toggle, close }] = useDisclosure(false);
  const { pathname } = useLocation();
  const main = useRef<HTMLElement>(null);
  const isFirst = useRef(true);
  // A screen reader continues at the new page. The first page keeps the focus where the browser put it.
  useEffect(() => {
    close();
    if (!isFirst.current) main.current?.focus();
    isFirst.current = false;
  }, [pathname, close]);

  return (
    <AppShell
      header={{ height: 56 }}
      navbar={{ width: 232, breakpoint: 'sm', collapsed: { mobile: !isOpen } }}
      padding="lg"
    >
      <a href="#content" className="skip-link">
        Skip to the content
      </a>
      <AppShell.Header>
        <Header isOpen={isOpen} toggle={toggle} />
      </AppShell.Header>
      <AppShell.Navbar p="xs" component="nav" aria-label="Pages">
        <Navigation />
      </AppShell.Navbar>
      <AppShell.Main id="content" ref={main} tabIndex={-1}>
        <Stack maw={1280} mx="auto">
          <Suspense fallback={<Loading />}>
            <Routes>
              {PLACES.map(({ path, page: Content }) => (
                <Route key={path} path={path} element={<Content />} />
              ))}
              <Route path="*" element={<NotFound />} />
            </Routes>
          </Suspense>
        </Stack>
      </AppShell.Main>
    </AppShell>
  );
}

function Header({ isOpen, toggle }: { isOpen: boolean; toggle: () => void }) {
  return (
    <Group h="100%" px="md" justify="space-between" wrap="nowrap" gap="xs">
      <Group gap="sm" wrap="nowrap">
        <Burger
          opened={isOpen}
          onClick={toggle}
          hiddenFrom="sm"
          size="sm"
          aria-label={isOpen ? 'Close the navigation' : 'Open the navigation'}
        />
        <UnstyledButton component={Link} to="/" aria-label="Gatehouse, start page">
          <Group gap="xs" wrap="nowrap">
            <Emblem />
            <Text fw={700} visibleFrom="xs">
              Gatehouse
            </Text>
          </Group>
        </UnstyledButton>
        <EnvironmentBadge />
      </Group>
      <Group gap={6} wrap="nowrap">
        <Live />
        <Scheme />
        <Account />
      </Group>
    </Group>
  );
}

/** Names the environment of the pages. A person changes it here; a key has one. */
function EnvironmentBadge() {
  const { environment, environments } = useSession();
  const look = { color: environment === 'production' ? 'red' : 'gate', radius: 'sm' } as const;
  if (environments.length === 1)
    return (
      <Tooltip label={`Everything on these pages belongs to the environment ${environment}.`}>
        <Badge variant="light" tt="none" fw={600} {...look}>
          {environment}
        </Badge>
      </Tooltip>
    );
  return (
    <Menu position="bottom-start" width={250} shadow="md">
      <Menu.Target>
        <Button
          variant="light"
          size="compact-xs"
          aria-label={`Environment ${environment}, change it`}
          rightSection={<IconChevronDown size={14} aria-hidden />}
          {...look}
        >
          {environment}
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>Everything on these pages belongs to one environment.</Menu.Label>
        {environments.map((one) => (
          <Menu.Item
            key={one}
            component="a"
            href={startOf(one)}
            aria-current={one === environment ? 'true' : undefined}
            disabled={one === environment}
          >
            {one}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}

function Live() {
  const isConnected = useLive();
  const text = isConnected
    ? 'Changes appear on their own.'
    : 'Not connected. Changes appear after it reconnects.';
  return (
    <Tooltip label={text}>
      <Group gap={8} wrap="nowrap" px={6} role="status" aria-label={isConnected ? 'Live' : 'Reconnecting'}>
        <Indicator
          color={isConnected ? 'green' : 'orange'}
          processing={!isConnected}
          position="middle-center"
          size={9}
        >
          <span style={{ display: 'block', width: 9, height: 9 }} />
        </Indicator>
        <Text size="xs" c="dimmed" visibleFrom="sm">
          {isConnected ? 'Live' : 'Reconnecting'}
        </Text>
      </Group>
    </Tooltip>
  );
}

function Scheme() {
  const { setColorScheme } = useMantineColorScheme();
  const isDark = useComputedColorScheme('light') === 'dark';
  const label = isDark ? 'Use light colours' : 'Use dark colours';
  return (
    <Tooltip label={label}>
      <ActionIcon
        variant="subtle"
        color="gray"
        size="lg"
        aria-label={label}
        onClick={() => setColorScheme(isDark ? 'light' : 'dark')}
      >
        {isDark ? <IconSun size={19} /> : <IconMoon size={19} />}
      </ActionIcon>
    </Tooltip>
  );
}

function Account() {
  const { name, role, expiresAt } = useSession();
  const signOut = async () => {
    const ended = await rest('DELETE', '/console/session').catch(() => ({ continueAt: null }));
    if (ended.continueAt === null) replaceSession(null);
    else location.assign(ended.continueAt);
  };
  const as = role === null ? `Signed in with the key ${name}` : `Signed in as ${name}, ${role}`;
  return (
    <Menu position="bottom-end" width={250} shadow="md">
      <Menu.Target>
        <ActionIcon variant="subtle" color="gray" size="lg" aria-label={as}>
          {role === null ? <IconKey size={19} /> : <IconUser size={19} />}
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>
          {role === null ? (
            <>
              Signed in with the key <strong>{name}</strong>
            </>
          ) : (
            <>
              Signed in as <strong>{name}</strong>, {role}
            </>
          )}
          <br />
          {expiresAt && (
            <>
              The session ends <When at={expiresAt} />.
            </>
          )}
        </Menu.Label>
        <Menu.Divider />
        <Menu.Item component="a" href={`${BASE}/docs`} leftSection={<IconBook size={16} aria-hidden />}>
          API reference
        </Menu.Item>
        <Menu.Item leftSection={<IconLogout size={16} aria-hidden />} onClick={() => void signOut()}>
          Sign out
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}

function Navigation() {
  const { pathname } = useLocation();
  return (
    <>
      <AppShell.Section grow component={ScrollArea}>
        {AREAS.map(({ to, label, icon: Icon, also = [] }) => {
          const isHere = [to, ...also].some(
            (path) => pathname === path || (path !== '/' && pathname.startsWith(`${path}/`)),
          );
          return (
            <NavLink
              key={to}
              component={Link}
              to={to}
              label={label}
              active={isHere}
              aria-current={isHere ? 'page' : undefined}
              leftSection={<Icon size={18} aria-hidden />}
              style={{ borderRadius: 8 }}
            />
          );
        })}
      </AppShell.Section>
      <AppShell.Section>
        <Text size="xs" c="dimmed" px="sm" py={4}>
          Gatehouse {GATEHOUSE_VERSION}
        </Text>
      </AppShell.Section>
    </>
  );
}
