const paths = {
  plus: "M12 5v14M5 12h14",
  chat: "M21 12a8 8 0 0 1-8 8H4l2-3.2A8 8 0 1 1 21 12z",
  now: "M3 12h4l3-8 4 16 3-8h4",
  runs: "M4 6h16M4 12h10M4 18h13",
  approvals: "M12 3l7 3v5c0 5-3 8-7 10-4-2-7-5-7-10V6zM9 12l2 2 4-4",
  chats: "M4 5h12v9H9l-4 3v-3H4zM19 9v8h-1v3l-4-3h-3",
  people:
    "M9 11a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7zM3 20c0-3.5 2.5-6 6-6s6 2.5 6 6" +
    "M16 4.5a3.5 3.5 0 0 1 0 6M17.5 14.5c2.2.8 3.5 2.9 3.5 5.5",
  usage: "M5 20V10M12 20V4M19 20v-7",
  logs: "M6 3h9l4 4v14H6zM9 11h7M9 15h7",
  menu: "M4 7h16M4 12h16M4 17h16",
  send: "M12 19V6M6 12l6-6 6 6",
  stop: "M8 8h8v8H8z",
  clip:
    "M19 11l-7.5 7.5a4.6 4.6 0 0 1-6.5-6.5L13 4a3.1 3.1 0 0 1 4.4 4.4L9.6 16" +
    "a1.5 1.5 0 0 1-2.2-2.2L14 7.3",
  down: "M12 5v14M6 13l6 6 6-6",
  copy: "M9 9h11v11H9zM5 15H4V4h11v1",
  shield: "M12 3l7 3v5c0 5-3 8-7 10-4-2-7-5-7-10V6z",
  leave: "M10 4H5v16h5M14 8l4 4-4 4M18 12H9",
};
export type IconName = keyof typeof paths;
export const Icon = ({ name }: { name: IconName }) => (
  <svg class="icon" viewBox="0 0 24 24" aria-hidden="true">
    <path d={paths[name]} />
  </svg>
);
