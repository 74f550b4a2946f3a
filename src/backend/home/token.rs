//! What connections and connects hold of their [`Home`], and give back when dropped: budget tokens and places.
use super::super::gate::Failure;
use super::Home;
use crate::net;
use crate::topology::Budget;
use std::rc::Rc;
use std::sync::Arc;

/// One connection of the server's budget; given back on drop.
pub(in super::super) struct Token {
    home: Rc<Home>,
    /// None: the one over the budget.
    budget: Option<Arc<Budget>>,
}

impl Token {
    /// None: the budget is spent.
    pub fn take(home: &Rc<Home>) -> Option<Token> {
        let budget = home.server.borrow().budget.clone();
        budget.try_take().then(|| Token::count(home, Some(budget)))
    }

    /// For [`super::Pools::dedicated`]; one a worker may exceed the budget.
    pub fn take_or_exceed(home: &Rc<Home>) -> Option<Token> {
        Token::take(home).or_else(|| (!home.extra.replace(true)).then(|| Token::count(home, None)))
    }

    fn count(home: &Rc<Home>, budget: Option<Arc<Budget>>) -> Token {
        home.open.set(home.open.get() + 1);
        home.shared.stats.server_connections.add(1);
        Token {
            home: home.clone(),
            budget,
        }
    }
}

impl Drop for Token {
    fn drop(&mut self) {
        match &self.budget {
            Some(budget) => budget.give_back(),
            None => self.home.extra.set(false),
        }
        self.home.open.set(self.home.open.get() - 1);
        self.home.shared.stats.server_connections.sub(1);
        self.home.bell.ring();
    }
}

/// Leave to open one connection: a token and a place at the gate.
pub(in super::super) struct Permit {
    home: Rc<Home>,
    /// Some until the permit is settled.
    token: Option<Token>,
    begun: bool,
}

impl Permit {
    pub fn new(home: &Rc<Home>, token: Token) -> Permit {
        Permit {
            home: home.clone(),
            token: Some(token),
            begun: false,
        }
    }

    /// From here on the server may see the connect.
    pub fn begin(&mut self) {
        self.begun = true;
    }

    pub fn succeeded(mut self) -> Option<Token> {
        self.home.gate.borrow_mut().succeeded();
        self.home.bell.ring();
        self.token.take()
    }

    pub fn failed(mut self, failure: Failure) {
        let chance = self.home.shared.chance();
        self.home
            .gate
            .borrow_mut()
            .failed(net::now(), failure, chance);
        // Its drop rings the bell.
        self.token.take();
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        if self.token.take().is_none() {
            return;
        }
        let mut gate = self.home.gate.borrow_mut();
        if self.begun {
            gate.withdrawn();
        } else {
            gate.unused();
        }
    }
}

/// See [`Home::leaving`].
pub(in super::super) struct Leaving(Rc<Home>);

impl Leaving {
    pub fn new(home: &Rc<Home>) -> Leaving {
        home.leaving.set(home.leaving.get() + 1);
        Leaving(home.clone())
    }
}

impl Drop for Leaving {
    fn drop(&mut self) {
        self.0.leaving.set(self.0.leaving.get() - 1);
    }
}
