// SPDX-License-Identifier: Apache-2.0
// "Creating ReactiveSwiftRealm - Part 2" from top to bottom. `SignalProducer` is a small one of our own. Swift 6
// requires `nonisolated(unsafe)` if an object crosses to another queue, which is the article's subject. The crash at
// the end of the article is caught here. `wait(for:)` replaces `waitForExpectations`, which Swift 6 allows on the main
// actor only.

import Dispatch
import Foundation
import RealmSwift
import RegnumTestKit
import XCTest

class FakeObject: Object {
    @Persisted var id = ""
    @Persisted var value = ""
}

// MARK: Add

private func add() -> SignalProducer<(), NoError> {
    return SignalProducer(value: ())
}

private func add(object: Object, realm: Realm) -> SignalProducer<(), NoError> {
    return SignalProducer { observer, _ in
        try! realm.write {
            realm.add(object)
        }
        observer.send(value: ())
        observer.sendCompleted()
    }
}

// MARK: Update

/// The version before the crash.
private func update(object: Object, realm: Realm, operation: @escaping (Realm) -> Void) -> SignalProducer<(), NoError> {
    return SignalProducer { observer, _ in
        try! realm.write {
            operation(realm)
        }
        observer.send(value: ())
        observer.sendCompleted()
    }
}

enum ReactiveSwiftRealmError: Error {
    case wrongThread
    case deletedInAnotherThread
}

enum ReactiveSwiftRealmThread {
    case main
    case background
}

/// The final version of the article.
private func update<T: Object>(
    object: T, realm: Realm, thread: ReactiveSwiftRealmThread = .main, operation: @escaping (_ object: T) -> Void
) -> SignalProducer<(), ReactiveSwiftRealmError> {
    return SignalProducer { observer, _ in
        if !Thread.isMainThread {
            observer.send(error: .wrongThread)
            return
        }
        switch thread {
        case .main:
            try! realm.write {
                operation(object)
            }
            observer.send(value: ())
            observer.sendCompleted()
        case .background:
            let objectRef = ThreadSafeReference(to: object)
            nonisolated(unsafe) let (operation, observer) = (operation, observer)
            DispatchQueue(label: "background").async {
                let realm = try! Realm()
                guard let object = realm.resolve(objectRef) else {
                    observer.send(error: .deletedInAnotherThread)
                    return
                }
                try! realm.write {
                    operation(object)
                }
                DispatchQueue.main.async {
                    observer.send(value: ())
                    observer.sendCompleted()
                }
            }
        }
    }
}

final class ReactiveSwiftRealmTests: XCTestCase {
    var realm: Realm!

    override func setUp() {
        super.setUp()
        Realm.Configuration.defaultConfiguration.inMemoryIdentifier = self.name
        realm = try! Realm()
    }

    func testAddReturnsAProducer() {
        let expectation = self.expectation(description: "ready")
        add().startWithValues { _ in expectation.fulfill() }
        wait(for: [expectation], timeout: 1800)
    }

    func testAddSavesAnObject() {
        XCTAssertEqual(realm.objects(FakeObject.self).count, 0)
        add(object: FakeObject(), realm: realm).start()
        XCTAssertEqual(realm.objects(FakeObject.self).count, 1)
    }

    func testAddSendsSignal() {
        let expectation = self.expectation(description: "ready")
        let fakeObject = FakeObject()
        add(object: fakeObject, realm: realm).startWithValues { value in
            let objects = self.realm.objects(FakeObject.self)
            XCTAssertEqual(objects.count, 1)
            expectation.fulfill()
        }

        wait(for: [expectation], timeout: 1800)
    }

    private func addedObject() -> FakeObject {
        let fakeObject = FakeObject()
        fakeObject.value = "oldValue"
        try! realm.write {
            realm.add(fakeObject)
        }
        let objects = self.realm.objects(FakeObject.self)
        XCTAssertEqual(objects.count, 1)
        return fakeObject
    }

    func testUpdateChangesObject() {
        let fakeObject = addedObject()
        update(object: fakeObject, realm: realm) { (object: FakeObject) in object.value = "updatedValue" }
            .start()
        XCTAssertEqual(realm.objects(FakeObject.self).first?.value, "updatedValue")
    }

    /// "My app crashed, ouch!"
    func testUpdateOnDifferentThreadIsMisuse() {
        let expectation = self.expectation(description: "ready")
        nonisolated(unsafe) let (fakeObject, realm) = (addedObject(), self.realm!)
        DispatchQueue.global(qos: .background).async {
            let words = catchMisuse {
                update(object: fakeObject, realm: realm) { (realm: Realm) in
                    fakeObject.value = "updatedValue"
                }.startWithValues { _ in XCTFail("the program would have ended") }
            }
            XCTAssertEqual(words?.hasPrefix("Realm accessed from incorrect thread."), true, words ?? "none")
            expectation.fulfill()
        }

        wait(for: [expectation], timeout: 1800)
        XCTAssertEqual(realm.objects(FakeObject.self).first?.value, "oldValue")
    }

    func testUpdateSendsErrorWhenNotOnMainThread() {
        let expectation = self.expectation(description: "ready")
        nonisolated(unsafe) let (fakeObject, realm) = (addedObject(), self.realm!)
        DispatchQueue.global(qos: .background).async {
            update(
                object: fakeObject, realm: realm,
                operation: { (_: FakeObject) in
                    fakeObject.value = "updatedValue"
                }
            ).on(failed: { error in
                XCTAssertEqual(error, .wrongThread)
                expectation.fulfill()
            }).start()
        }

        wait(for: [expectation], timeout: 1800)
    }

    func testUpdateInBackgroundSendsSignalInMain() {
        let expectation = self.expectation(description: "ready")
        let fakeObject = addedObject()
        update(object: fakeObject, realm: realm, thread: .background) { (object: FakeObject) in
            XCTAssertFalse(Thread.isMainThread)
            object.value = "updatedValue"
        }.on(value: {
            XCTAssertTrue(Thread.isMainThread)
            expectation.fulfill()
        }).start()

        wait(for: [expectation], timeout: 1800)
        realm.refresh()
        XCTAssertEqual(fakeObject.value, "updatedValue")
    }

    func testUpdateInBackgroundOfADeletedObjectFails() {
        let expectation = self.expectation(description: "ready")
        let fakeObject = addedObject()
        let reference = ThreadSafeReference(to: fakeObject)
        try! realm.write { realm.delete(fakeObject) }
        DispatchQueue(label: "background").async {
            let realm = try! Realm()
            // A Realm that has read nothing yet would advance to the version of the reference, as in RealmSwift.
            XCTAssertEqual(realm.objects(FakeObject.self).count, 0)
            XCTAssertNil(realm.resolve(reference))
            expectation.fulfill()
        }
        wait(for: [expectation], timeout: 1800)
    }
}
