"""Names and numbers of the AT-SPI protocol (atspi-constants.h)."""

from __future__ import annotations

from functools import lru_cache, partial

from holo_tasks.core.elements.role_names import role_of

REGISTRY = "org.a11y.atspi.Registry"
REGISTRY_PATH = "/org/a11y/atspi/registry"
ROOT = "/org/a11y/atspi/accessible/root"
CACHE_PATH = "/org/a11y/atspi/cache"
NULL = "/org/a11y/atspi/null"
ACCESSIBLE = "org.a11y.atspi.Accessible"
ACTION = "org.a11y.atspi.Action"
APPLICATION = "org.a11y.atspi.Application"
CACHE = "org.a11y.atspi.Cache"
COMPONENT = "org.a11y.atspi.Component"
TABLE = "org.a11y.atspi.Table"
TEXT = "org.a11y.atspi.Text"
VALUE = "org.a11y.atspi.Value"
PROPERTIES = "org.freedesktop.DBus.Properties"
EVENTS = "org.a11y.atspi.Event."
ON_SCREEN, IN_WINDOW = 0, 1
"""Coordinate types of AT-SPI: extents relative to the screen, or to the window."""
LABEL_FOR, LABELLED_BY = 1, 2

_names = partial(str.split, sep=",")
_ROLES = _names(
    "invalid,accelerator label,alert,animation,arrow,calendar,canvas,check box,check menu item,color chooser,"
    "column header,combo box,date editor,desktop icon,desktop frame,dial,dialog,directory pane,drawing area,"
    "file chooser,filler,focus traversable,font chooser,frame,glass pane,html container,icon,image,internal frame,"
    "label,layered pane,list,list item,menu,menu bar,menu item,option pane,page tab,page tab list,panel,password text,"
    "popup menu,progress bar,push button,radio button,radio menu item,root pane,row header,scroll bar,scroll pane,"
    "separator,slider,spin button,split pane,status bar,table,table cell,table column header,table row header,"
    "tearoff menu item,terminal,text,toggle button,tool bar,tool tip,tree,tree table,unknown,viewport,window,extended,"
    "header,footer,paragraph,ruler,application,autocomplete,editbar,embedded,entry,chart,caption,document frame,"
    "heading,page,section,redundant object,form,link,input method window,table row,tree item,document spreadsheet,"
    "document presentation,document text,document web,document email,comment,list box,grouping,image map,notification,"
    "info bar,level bar,title bar,block quote,audio,video,definition,article,landmark,log,marquee,math,rating,timer,"
    "static,math fraction,math root,subscript,superscript,description list,description term,description value,footnote,"
    "content deletion,content insertion,mark,suggestion,push button menu,switch"
)
_STATES = _names(
    "invalid,active,armed,busy,checked,collapsed,defunct,editable,enabled,expandable,expanded,focusable,focused,"
    "has tooltip,horizontal,iconified,modal,multi line,multiselectable,opaque,pressed,resizable,selectable,selected,"
    "sensitive,showing,single line,stale,transient,vertical,visible,manages descendants,indeterminate,required,"
    "truncated,animated,invalid entry,supports autocompletion,selectable text,is default,visited,checkable,has popup,"
    "read only"
)
ROLES = tuple(map(role_of, _ROLES))
PASSWORD_TEXT = _ROLES.index("password text")
SHOWING = 1 << _STATES.index("showing")
VISIBLE = 1 << _STATES.index("visible")
SELECTED = 1 << _STATES.index("selected")
DEFUNCT = 1 << _STATES.index("defunct")
EDITABLE = 1 << _STATES.index("editable")
MANAGES = 1 << _STATES.index("manages descendants")


def role_name(number: int) -> str:
    """Return the name of a role's number; ``unknown`` for other numbers."""
    return ROLES[number] if 0 <= number < len(ROLES) else "unknown"


def state_bits(words: list[int]) -> int:
    """Return a set of states as one 64-bit number, from the two 32-bit words of the protocol."""
    low, high = (*words, 0, 0)[:2]
    return (low & 0xFFFFFFFF) | (high & 0xFFFFFFFF) << 32


@lru_cache(maxsize=4096)
def state_names(bits: int) -> frozenset[str]:
    """Return the names of the states whose bits are set."""
    return frozenset(name for place, name in enumerate(_STATES) if bits >> place & 1)
